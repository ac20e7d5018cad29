/**
 * The greeting without smtp-server's wait of 100 ms.
 *
 * Its `init` lets every client wait, to catch those that talk before the greeting. That
 * is good against strangers at an MX. Our clients are known by a key, many open a
 * connection for each message, and the wait holds such a client to ten messages a second.
 *
 * Known limit: this repeats what `init` does without its connection limit, which
 * `connection-limit.ts` replaces. A new version of smtp-server must be read for changes here.
 */
import type { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import type { SmtpReply } from './protocol-fault.js'
import { replyText } from './smtp-reply.js'

/** `refusal`: what to say instead of the greeting; null: the client is welcome. */
export function greetAtOnce(connection: SMTPConnection, refusal: () => SmtpReply | null): void {
  connection._setListeners(() => {
    const reply = refusal()
    if (reply === null) connection.connectionReady()
    else connection.send(reply.code, replyText(reply))
  })
}
