"""Keystone on a fresh SQLite database: `keystone_server.py FOLDER HOST PORT ADMIN_PASSWORD`.

Does the steps of `keystone-manage db_sync`, `fernet_setup` and `bootstrap` in one process, because each command takes
seconds to start.
"""

import os
import sys

# Keystone reads the rest of the arguments itself.
folder, host, port, password = sys.argv[1:5]
del sys.argv[1:]
configuration = os.path.join(folder, "keystone.conf")
with open(configuration, "w", encoding="utf-8") as file:
    file.write(f"""
[database]
connection = sqlite:///{folder}/keystone.db
[fernet_tokens]
key_repository = {folder}/keys
[fernet_receipts]
key_repository = {folder}/keys
[identity]
password_hash_rounds = 4
[credential]
key_repository = {folder}/keys
""")
os.environ["OS_KEYSTONE_CONFIG_FILES"] = configuration

from cryptography.fernet import Fernet
from keystone.cmd.bootstrap import Bootstrapper
from keystone.common.sql import upgrades
from keystone.server import backends, wsgi
from werkzeug.serving import run_simple

# The next key and the current one.
os.makedirs(os.path.join(folder, "keys"), mode=0o700)
for name in ["0", "1"]:
    with open(os.path.join(folder, "keys", name), "wb") as file:
        file.write(Fernet.generate_key())

application = wsgi.initialize_public_application()
upgrades.offline_sync_database_to_version()
# The application has loaded them, and a second time is an error.
backends.load_backends = lambda: None
bootstrapper = Bootstrapper()
bootstrapper.admin_username, bootstrapper.admin_password = "admin", password
bootstrapper.project_name = bootstrapper.admin_role_name = "admin"
bootstrapper.service_name, bootstrapper.region_id = "keystone", "RegionOne"
bootstrapper.public_url = f"http://{host}:{port}/v3/"
bootstrapper.bootstrap()
run_simple(host, int(port), application, threaded=True)
