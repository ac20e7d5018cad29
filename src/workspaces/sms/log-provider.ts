/** Writes messages to the log instead of sending them: for development. Their codes are in the log. */
import type { Log } from '../../base/platform/log.js'
import type { SmsProvider } from './provider.js'

export function createLogProvider({ log }: { readonly log: Pick<Log, 'info'> }): SmsProvider {
  return {
    name: 'log',
    send: ({ id, phone, text }) => {
      log.info({ sms_id: id, phone, text: text.text }, 'a verification code is logged instead of sent')
      return Promise.resolve({ kind: 'accepted', messageIds: [] })
    },
    stop: () => Promise.resolve(),
  }
}
