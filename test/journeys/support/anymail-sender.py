"""Sends an email to two recipients, each with values of their own, with the Mailgun backend of django-anymail.

Arguments: the URL of the service and the key. Prints the message id and the status of the recipients as JSON.
"""
import json
import sys

import django
from django.conf import settings

url, key = sys.argv[1:]
settings.configure(
    ANYMAIL={"MAILGUN_API_KEY": key, "MAILGUN_API_URL": f"{url}/v3", "MAILGUN_SENDER_DOMAIN": "a.test"},
    EMAIL_BACKEND="anymail.backends.mailgun.EmailBackend",
    INSTALLED_APPS=["anymail"],
    SECRET_KEY="test",
)
django.setup()

from django.core.mail import EmailMultiAlternatives  # noqa: E402

to = ["Bob <bob@b.test>", "carol@b.test"]
message = EmailMultiAlternatives("Hello %recipient.name%", "Dear %recipient.name%", "App <app@a.test>", to)
message.reply_to = ["Help <help@a.test>"]
message.extra_headers = {"X-Own": "1"}
message.attach_alternative("<p>Dear %recipient.name%</p>", "text/html")
message.attach("bill.txt", "99.00", "text/plain")
message.tags = ["one", "two"]
message.metadata = {"order": 5}
message.merge_data = {"bob@b.test": {"name": "Bob"}, "carol@b.test": {"name": "Carol"}}
message.merge_metadata = {"bob@b.test": {"id": 1}, "carol@b.test": {"id": 2}}
message.track_opens = False
message.send()
status = message.anymail_status
print(json.dumps({"id": status.message_id, "status": sorted(status.status)}))
