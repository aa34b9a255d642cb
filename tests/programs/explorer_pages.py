"""Ask the explorer for a page and what belongs to it."""

from darrm.show.explore import create_app

PAGE = "/noise/?K=11&m=3&epsilon=0.1&voters=fresh&queries=100&total_delta=1e-5&b.K=21&b.m=3&b.epsilon=0.1"
client = create_app().test_client()
PLAN = "/?count1=3&max_affected=1&voters=fresh&queries=10&plan=now"
for path in (PLAN, PAGE, "/decisions/?count1=2&count2=&others=now", "/static/explore.js", "/static/explore.css"):
    answer = client.get(path, base_url="http://127.0.0.1:8000")
    assert answer.status_code == 200, (path, answer.status_code)
