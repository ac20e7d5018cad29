/** Events as Mailgun sends them. The signature is in the body: an HMAC over the time of the attempt and a token. */
import { createHmac } from 'node:crypto'
import { type EventFormat, type FormattedEvent, JSON_TYPE } from './event-format.js'
import { typesOfMailgunEvents, writeMailgunEvent } from './mailgun-event.js'
import { replaceTest, TEST_TYPE } from './sample-event.js'
import { tokenOf } from './stable-numbers.js'

export const mailgun: EventFormat = {
  types: new Set([...typesOfMailgunEvents(null), 'email.received', TEST_TYPE]),
  compose: (original) => {
    const event = replaceTest(original)
    const body = { signature: signMailgun(event), 'event-data': writeMailgunEvent(event) }
    return { body: JSON.stringify(body), contentType: JSON_TYPE }
  },
}

interface MailgunSignature {
  /** Seconds since 1970. */
  readonly timestamp: string
  /** It is the same at each attempt. */
  readonly token: string
  readonly signature: string
}

export function signMailgun({ id, at, secret }: Pick<FormattedEvent, 'id' | 'at' | 'secret'>): MailgunSignature {
  const timestamp = String(Math.floor(at / 1000))
  const token = tokenOf(id)
  return { timestamp, token, signature: createHmac('sha256', secret).update(timestamp).update(token).digest('hex') }
}
