/** `queue rules add|list|remove`: what the operator holds as long as a rule lasts. */

import { parseDomainName } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { parseTimestamp } from '../../../outbound/sending/schedule.js'
import {
  allHoldRules,
  createHoldRule,
  describeHoldRule,
  endHoldRule,
  type HoldRule,
  holdRuleById,
  parsePattern,
} from '../../../records/messages/queue/hold-rules.js'
import { countHeldEntries } from '../../../records/messages/queue/ruled-entries.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  type OptionValues,
  refuseExtraWords,
  requiredWord,
  textOption,
  UsageError,
} from '../command/command.js'
import { parseAge, parseSender } from '../command/queue-filter.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

export async function add({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const now = clock()
  const domain = textOption(options, 'domain')
  const sender = textOption(options, 'sender')
  const pattern = textOption(options, 'pattern')
  const given = {
    domain: domain === undefined ? null : parseDomainName(domain),
    sender: sender === undefined ? null : parseSender(sender),
    pattern: pattern === undefined ? null : parsePattern(pattern),
    until: parseEnd(options, now),
  }
  if ((domain ?? sender ?? pattern ?? options['workspace']) === undefined) {
    throw new UsageError('name the mail: --domain, --sender, --pattern, --workspace')
  }
  const { read, commit } = await database()
  const workspaceId = options['workspace'] === undefined ? null : await chooseWorkspace(read, options)
  const { rule, writes } = await createHoldRule(read, { ...given, workspaceId }, operatorActor, now)
  await commit(writes)
  return { json: await toResource(read, rule), lines: [`hold rule ${rule.id}: mail ${describeHoldRule(rule)} is held`] }
}

/** A moment in the future, or a duration from now, or null if the rule lasts until it is removed. */
function parseEnd(options: OptionValues, now: number): number | null {
  const given = textOption(options, 'until')
  if (given === undefined) return null
  const at = /^\d+[smhd]$/.test(given) ? now + parseAge('until', given) : parseTimestamp(given)
  if (at !== null && at > now) return at
  throw new UsageError(
    `--until: found "${given}", allowed: a moment in the future such as 2030-01-31T09:00:00Z, or 2h, 3d`,
  )
}

export async function list({ words, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const data = await Promise.all((await allHoldRules(read, {})).map((rule) => toResource(read, rule)))
  const rows = data.map(({ id, description, state, held, created_at }) => [
    ...[id, state, held === MAX_COUNTED ? `${held} or more` : String(held)],
    ...[created_at, description],
  ])
  return {
    json: { data },
    lines: data.length === 0 ? ['no hold rules'] : formatTable(['ID', 'STATE', 'HELD', 'ADDED', 'MAIL'], rows),
  }
}

export async function remove({ words, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'ID')
  const { read, commit } = await database()
  const [rule] = await holdRuleById(read, { id })
  if (rule === undefined) throw new CommandFailed(`no hold rule ${id}`)
  const isEnded = rule.ending === 0 && (await tryCommit(commit(endHoldRule(rule, operatorActor, clock()))))
  if (!isEnded) throw new CommandFailed(`the hold rule ${id} is ending already`)
  return { json: { id }, lines: [`hold rule ${id} has ended: what it held is sent`] }
}

/** Entries that are counted of each rule. */
const MAX_COUNTED = 10_000

async function toResource(read: Read, rule: HoldRule) {
  const { id, workspace_id, domain, sender, pattern, until, created_at, ending, cursor } = rule
  return {
    ...{ id, domain, sender, pattern, description: describeHoldRule(rule) },
    workspace_id: workspace_id === SERVICE_WORKSPACE ? null : workspace_id,
    until: until === null ? null : formatTimestamp(until),
    state: ending === 1 ? 'ending' : cursor === null ? 'active' : 'starting',
    held: await countHeldEntries(read, rule, MAX_COUNTED),
    created_at: formatTimestamp(created_at),
  }
}
