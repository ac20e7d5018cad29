"""Receives webhooks with the views of django-anymail on the given port, and prints each event as a line of JSON.

The environment has RECEIVER_LOGIN (user:password, asked for if it is set) and MAILGUN_KEY.
"""
import json
import os
import sys
from email.header import decode_header, make_header
from wsgiref.simple_server import make_server

import django
from django.conf import settings

login = os.environ.get("RECEIVER_LOGIN")
anymail = {"MAILGUN_WEBHOOK_SIGNING_KEY": os.environ.get("MAILGUN_KEY", "unset")}
if login:
    anymail["WEBHOOK_SECRET"] = login
settings.configure(
    ALLOWED_HOSTS=["*"],
    ANYMAIL=anymail,
    DATA_UPLOAD_MAX_MEMORY_SIZE=None,
    DEBUG=False,
    INSTALLED_APPS=["anymail"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="test",
)
django.setup()

from anymail.signals import inbound, tracking  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402

urlpatterns = [path("anymail/", include("anymail.urls"))]


def say(**fields):
    print(json.dumps(fields), flush=True)


def on_tracking(sender, event, esp_name, **_):
    names = ("event_type", "message_id", "event_id", "recipient", "reject_reason", "mta_response", "tags", "metadata")
    fields = {name: getattr(event, name) for name in names}
    say(esp=esp_name, click_url=event.click_url, user_agent=event.user_agent, at=str(event.timestamp), **fields)


def on_inbound(sender, event, esp_name, **_):
    message = event.message
    say(
        esp=esp_name,
        event_type=event.event_type,
        event_id=event.event_id,
        sender=message.envelope_sender,
        recipient=message.envelope_recipient,
        subject=message.subject,
        # anymail builds the header of a Postmark message itself, and encodes the name.
        author=[str(make_header(decode_header(message.from_email.display_name))), message.from_email.addr_spec],
        to=[address.addr_spec for address in message.to],
        text=message.text,
        html=message.html,
        spam_detected=message.spam_detected,
        spam_score=message.spam_score,
        attachments=[[part.get_filename(), part.get_content_type(), part.get_content_bytes().hex()]
                     for part in message.attachments],
    )


tracking.connect(on_tracking, weak=False)
inbound.connect(on_inbound, weak=False)
server = make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application())
print("listening", flush=True)
server.serve_forever()
