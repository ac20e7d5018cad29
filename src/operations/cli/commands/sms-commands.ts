/**
 * `sms send|check|holds|release`: the operator's own test of verification codes, and prefixes that are held.
 *
 * `send` and `check` do what the API does, in this process, and open a separate provider. What the provider said is a
 * log line on standard error.
 */
import { destination } from 'pino'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { createLog } from '../../../base/platform/log.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { listHolds, type PrefixHold, releaseHolds } from '../../../workspaces/sms/holds.js'
import type { SmsService } from '../../../workspaces/sms/service/sms-service.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  refuseExtraWords,
  requiredWord,
  textOption,
  UsageError,
} from '../command/command.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

const DEFAULT_LENGTH = 6
const DEFAULT_EXPIRY = 10

/** Runs with a provider that is stopped afterwards. */
async function withSms<T>(call: Call, work: (sms: SmsService, workspaceId: string) => Promise<T>): Promise<T> {
  const database = await call.database()
  const workspaceId = await chooseWorkspace(database.read, call.options)
  // They are loaded here: other commands start faster without the providers and the metadata of phone numbers.
  const [{ ensureServiceIdentity }, { systemEdges }, { SmsService: Service }] = await Promise.all([
    import('../../../workspaces/domains/service-identity.js'),
    import('../../daemon/edges.js'),
    import('../../../workspaces/sms/service/sms-service.js'),
  ])
  const { config, clock } = call
  const identity = await ensureServiceIdentity(database, config.service.mail_from, clock())
  const log = createLog(destination({ dest: 2, sync: true }), { level: 'info', format: 'pretty' }, {})
  const sms = await Service.open({
    ...{ config, settings: () => config, clock, log, database, secret: identity.smsSecret, ...systemEdges() },
  })
  try {
    return await work(sms, workspaceId)
  } finally {
    await sms.stop()
  }
}

export function send(call: Call): Promise<Answer> {
  const { words, options } = call
  refuseExtraWords(words, 1)
  const request = {
    phone: requiredWord(words, 0, 'PHONE'),
    template: textOption(options, 'template'),
    codeLength: parseCount(options['code-length'], 'code-length', { min: 4, max: 8, absent: DEFAULT_LENGTH }),
    expiryMinutes: parseCount(options['expiry-minutes'], 'expiry-minutes', { min: 1, max: 60, absent: DEFAULT_EXPIRY }),
    metadata: null,
  }
  return withSms(call, async (sms, workspaceId) => {
    const { id, phone, expiresAt } = await sms.sender.send({ ...request, workspaceId })
    const expires = formatTimestamp(expiresAt)
    return {
      json: { id, phone, status: 'sent', expires_at: expires },
      lines: [
        `the provider took over the message to ${phone} (${id})`,
        `the code is valid until ${expires}: "posthorn sms check ${phone} CODE" checks it`,
      ],
    }
  })
}

function parseCount(
  value: Call['options'][string],
  name: string,
  { min, max, absent }: Readonly<Record<'min' | 'max' | 'absent', number>>,
): number {
  if (typeof value !== 'string') return absent
  const count = /^\d{1,3}$/.test(value) ? Number(value) : Number.NaN
  if (count >= min && count <= max) return count
  throw new UsageError(`--${name}: found "${value}", allowed: a whole number from ${min} to ${max}`)
}

export function check(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 2)
  const phone = requiredWord(call.words, 0, 'PHONE')
  const code = requiredWord(call.words, 1, 'CODE')
  return withSms(call, async (sms, workspaceId) => {
    const checked = await sms.checker.check({ workspaceId, phone, code })
    return { json: checked, lines: [`${checked.status}: ${checked.message}`], failed: !checked.valid }
  })
}

/** Null if it is about all workspaces. */
async function chooseOneOrAll(read: Read, options: Call['options']): Promise<string | null> {
  return textOption(options, 'workspace') === undefined ? null : await chooseWorkspace(read, options)
}

export async function showHolds({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const only = await chooseOneOrAll(read, options)
  const holds = (await listHolds(read, clock())).filter(({ workspace_id }) => only === null || workspace_id === only)
  return {
    json: { data: holds.map(toResource) },
    lines: [
      ...formatTable(
        ['WORKSPACE', 'PREFIX', 'SINCE', 'UNTIL', 'CODES SENT', 'ENTERED'],
        holds.map((hold) => [
          ...[hold.workspace_id, hold.prefix, formatTimestamp(hold.held_at), formatTimestamp(hold.until_at)],
          ...[String(hold.sent), String(hold.verified)],
        ]),
      ),
      `${holds.length} held`,
    ],
  }
}

function toResource({
  workspace_id,
  prefix,
  held_at,
  until_at,
  sent,
  verified,
}: PrefixHold): Readonly<Record<string, unknown>> {
  const [since, until] = [formatTimestamp(held_at), formatTimestamp(until_at)]
  return { workspace_id, prefix, held_at: since, until_at: until, sent, verified }
}

export async function release({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const word = requiredWord(words, 0, 'PREFIX')
  const prefix = word.startsWith('+') ? word : `+${word}`
  const store = await database()
  const now = clock()
  const released = await releaseHolds(store, { prefix, workspaceId: await chooseOneOrAll(store.read, options), now })
  if (released.length === 0) throw new CommandFailed(`${prefix} is not held: "posthorn sms holds" lists what is`)
  return {
    json: { data: released.map(toResource) },
    lines: released.map(({ workspace_id }) => `${workspace_id} may send codes to ${prefix} again`),
  }
}
