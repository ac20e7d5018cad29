"""Submits with smtplib: a JSON list of submissions in, a JSON list of what came of each out.

"tls" is "starttls" or "implicit"; "ca" null: only what the machine trusts; "key" null: no login.
"""
import base64
import json
import smtplib
import ssl
import sys


def session(plan):
    context = ssl.create_default_context(cafile=plan["ca"])
    if plan["tls"] == "implicit":
        return smtplib.SMTP_SSL("localhost", plan["port"], context=context)
    client = smtplib.SMTP("localhost", plan["port"])
    client.starttls(context=context)
    return client


def submit(plan):
    with session(plan) as client:
        if plan["key"] is not None:
            client.login("app", plan["key"])
        refused = client.sendmail(
            plan["from"],
            plan["to"],
            base64.b64decode(plan["message"]),
            mail_options=plan["mail_options"],
            rcpt_options=plan["rcpt_options"],
        )
        return refused or "sent"


answers = []
for plan in json.load(sys.stdin):
    try:
        answers.append(submit(plan))
    except smtplib.SMTPRecipientsRefused as error:
        answers.append(f"refused {error.recipients}")
    except smtplib.SMTPResponseException as error:
        answers.append(f"{type(error).__name__} {error.smtp_code} {error.smtp_error.decode()}")
    except ssl.SSLError as error:
        answers.append(f"{type(error).__name__} {error.reason}")
print(json.dumps(answers))
