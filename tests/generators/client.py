"""What an integrator writes with the generated client."""

import sys
import time

from turnloom_client import AuthenticatedClient
from turnloom_client.api.asks import asks_list, asks_permission
from turnloom_client.api.events import views_view
from turnloom_client.api.sessions import messages_send, sessions_create, sessions_list, sessions_show
from turnloom_client.models import Create, CreateParams, Permission, PermissionReply, Send


def main(url: str, token: str) -> None:
    client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
    create = Create(runtime="mock", session_id="python", params=CreateParams.from_dict({"pace_ms": 0}))
    session = sessions_create.sync(client=client, body=create)
    assert session.session_id == "python", session
    receipt = messages_send.sync("python", client=client, body=Send(message="permission"))
    assert receipt.accepted, receipt
    ask = None
    while ask is None:
        asks = asks_list.sync(client=client).asks
        ask = next((ask for ask in asks if ask.session_id == "python"), None)
    resolved = asks_permission.sync("python", ask.ask_id, client=client, body=Permission(reply=PermissionReply.ONCE))
    assert resolved.resolved, resolved
    while sessions_show.sync("python", client=client).status != "idle":
        time.sleep(0.02)
    assert [known.session_id for known in sessions_list.sync(client=client).sessions] == ["python"]
    view = views_view.sync("python", client=client)
    print(view.messages[-1].content)


main(*sys.argv[1:])
