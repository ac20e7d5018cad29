/** The filter that the options of `queue` commands describe. Throws a UsageError or a Refusal. */
import { duration } from '../../../base/config/values.js'
import { parseAddress, parseDomainName } from '../../../base/mail/address.js'
import { providerGroups } from '../../../base/mail/mailbox-providers.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { QueueFilter } from '../../../records/messages/queue/queue-admin.js'
import { queueStatuses } from '../../../records/messages/queue/queue-status.js'
import { waitReasons } from '../../../records/messages/queue/wait-reason.js'
import { type Call, textOption, UsageError } from './command.js'
import { chooseWorkspace } from './workspace-choice.js'

const filterDuration = duration()

/** The workspace stays as it was given. */
export function parseFilter({ words, options, clock }: Call): QueueFilter {
  const domain = textOption(options, 'domain')
  const sender = textOption(options, 'sender')
  const age = textOption(options, 'older-than')
  return {
    workspaceId: textOption(options, 'workspace'),
    domain: domain === undefined ? undefined : parseDomainName(domain),
    status: parseWord(options['status'], 'status', queueStatuses),
    reason: parseWord(options['reason'], 'reason', waitReasons),
    provider: parseWord(options['provider'], 'provider', providerGroups),
    sender: sender === undefined ? undefined : parseSender(sender),
    enqueuedBefore: age === undefined ? undefined : clock() - parseAge('older-than', age),
    ids: words.length > 0 ? words : undefined,
  }
}

/** The filter with the id of the workspace, which may have been given by its short name. */
export async function resolveFilter(read: Read, { options }: Call, filter: QueueFilter): Promise<QueueFilter> {
  return filter.workspaceId === undefined ? filter : { ...filter, workspaceId: await chooseWorkspace(read, options) }
}

/** An address or a domain, in lower case. */
export function parseSender(text: string): string {
  return (text.includes('@') ? parseAddress(text) : parseDomainName(text)).toLowerCase()
}

/** Milliseconds. */
export function parseAge(option: string, text: string): number {
  const parsed = filterDuration.safeParse(text)
  if (parsed.success) return parsed.data
  throw new UsageError(`--${option}: found "${text}", allowed: a duration such as 90s, 5m, 2h, 4d`)
}

function parseWord<Word extends string>(
  given: string | boolean | undefined,
  option: string,
  allowed: readonly Word[],
): Word | undefined {
  if (given === undefined) return undefined
  const word = allowed.find((known) => known === given)
  if (word === undefined) throw new UsageError(`--${option}: found "${given}", allowed: ${allowed.join(', ')}`)
  return word
}
