"""Connect to this machine, and unpickle a fraction."""

import pickle
import socket
from fractions import Fraction

with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
pickle.loads(pickle.dumps(Fraction(1, 3)))
