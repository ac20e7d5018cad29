/** Writes messages to the log instead of sending them. It is for development: the log shows the codes. */
import type { Log } from '../../base/platform/log.js'
import type { SendOutcome, SmsMessage, SmsProvider } from './provider.js'

export class LogProvider implements SmsProvider {
  readonly name = 'log'

  constructor(private readonly log: Pick<Log, 'info'>) {}

  async send({ id, phone, text }: SmsMessage): Promise<SendOutcome> {
    this.log.info({ sms_id: id, phone, text: text.text }, 'a verification code is logged instead of sent')
    return { kind: 'accepted', messageIds: [] }
  }

  async stop(): Promise<void> {}
}
