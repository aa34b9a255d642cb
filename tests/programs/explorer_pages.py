"""Ask the explorer for a page and what belongs to it."""

from darrm.show.explore import create_app

GROUPS = "/release/?known=accuracy&count1=2&epsilon1=1&count2=3&epsilon2=0.2&m=&release_epsilon=1&others=now"
client = create_app().test_client()
PLAN = "/?count1=3&max_affected=1&voters=fresh&queries=10&plan=now"
for path in (PLAN, GROUPS, "/release/?others=now", "/static/explore.js", "/static/explore.css"):
    answer = client.get(path, base_url="http://127.0.0.1:8000")
    assert answer.status_code == 200, (path, answer.status_code)
