/** Inbound mail as it was received, and nothing else: what Action Mailbox's relay takes. A test is a small message. */
import type { EventFormat, FormattedEvent } from './event-format.js'
import { TEST_TYPE } from './sample-event.js'

export const MESSAGE_TYPE = 'message/rfc822'

export const raw: EventFormat = {
  types: new Set(['email.received', TEST_TYPE]),
  compose: (event) => ({ body: writeTestMessage(event), contentType: MESSAGE_TYPE }),
}

function writeTestMessage({ id, createdAt }: FormattedEvent): string {
  return [
    'From: Posthorn <sender@example.com>',
    'To: recipient@example.com',
    'Subject: This message tests the webhook.',
    `Date: ${new Date(createdAt).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id}@example.com>`,
    '',
    'This message tests the webhook.',
    '',
  ].join('\r\n')
}
