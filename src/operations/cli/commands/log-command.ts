/** `log`: all that is known of one message, in the order of time. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Email } from '../../../records/messages/email/email.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords, requiredWord } from '../command/command.js'
import { readEmailLog } from '../message-log/email-log.js'
import { findMessage } from '../message-log/find-message.js'
import { readInboundLog } from '../message-log/inbound-log.js'
import type { LogEntry } from '../message-log/log-entry.js'

export async function showLog({ words, database, config, showProgress }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'EMAIL_ID')
  const { read } = await database()
  const found = await findMessage(read, id, showProgress)
  if (found === null) throw new CommandFailed(`no email, queue entry or inbound email ${id}`)
  const how = { keptFor: config.retention.messages, showProgress }
  if (found.kind === 'inbound') {
    return answerLog('inbound', found.inbound, await readInboundLog(read, found.inbound, how))
  }
  const entries = await readEmailLog(read, found.lookup, how)
  if (entries === null) throw new CommandFailed(`the email ${found.lookup.email.id} is gone`)
  return answerLog('email', found.lookup.email, entries)
}

function answerLog(kind: 'email' | 'inbound', message: Email | InboundEmail, entries: readonly LogEntry[]): Answer {
  const { id, workspace_id, message_id, subject, from_email: from, status } = message
  const log = entries.map(({ at, event, text, details }) => ({
    ...{ at: at === null ? null : formatTimestamp(at), event, text },
    ...details,
  }))
  const width = Math.max(...entries.map(({ event }) => event.length))
  const lines = entries.map(({ at, event, text }) => {
    const time = at === null ? ' '.repeat(24) : formatTimestamp(at)
    return `${time}  ${event.padEnd(width)}  ${text.replace(/[\r\n]+/g, ' | ')}`
  })
  return {
    json: { kind, id, workspace_id, message_id, from, subject, status, log },
    lines: [
      `${id}  ${kind}  ${status}`,
      `  from        ${from}`,
      `  subject     ${subject}`,
      `  message-id  ${message_id ?? '-'}`,
      '',
      ...lines,
    ],
  }
}
