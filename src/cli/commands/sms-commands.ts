/**
 * `sms send|check|holds|release`: the operator's own test of verification codes, and prefixes that are held.
 *
 * `send` and `check` do what the API does, in this process, with a provider of its own. What the provider said is a log
 * line on standard error.
 */
import { destination } from 'pino'
import { operatorActor, recordAuditEntry } from '../../accounts/audit-log.js'
import type { Sms } from '../../daemon/sms.js'
import { formatTimestamp } from '../../platform/clock.js'
import { createLog } from '../../platform/log.js'
import { tryCommit } from '../../storage/writer/write.js'
import {
  type Answer,
  type Call,
  type Command,
  CommandFailed,
  refuseExtraWords,
  requiredWord,
  textOption,
  UsageError,
} from '../command.js'
import { formatTable } from '../table.js'
import { chooseWorkspace } from '../workspace-choice.js'

const DEFAULT_LENGTH = 6
const DEFAULT_EXPIRY = 10

export const smsCommands: readonly Command[] = [
  {
    name: 'sms send',
    usage: 'PHONE [--workspace ID] [--template TEXT] [--code-length N] [--expiry-minutes N]',
    summary: 'send a verification code to a phone, and say whether the provider took over the message',
    options: { workspace: 'string', template: 'string', 'code-length': 'string', 'expiry-minutes': 'string' },
    run: send,
  },
  {
    name: 'sms check',
    usage: 'PHONE CODE [--workspace ID]',
    summary: 'check the code that arrived on a phone',
    options: { workspace: 'string' },
    run: check,
  },
  {
    name: 'sms holds',
    usage: '[--workspace ID]',
    summary: 'list the prefixes of phones to which no code is sent for a while, because too few were entered',
    options: { workspace: 'string' },
    run: listHolds,
  },
  {
    name: 'sms release',
    usage: 'PREFIX [--workspace ID]',
    summary: 'let codes be sent to such a prefix again; the count of entered codes begins anew',
    options: { workspace: 'string' },
    run: release,
  },
]

/** Runs with a provider that is stopped afterwards. */
async function withSms<T>(call: Call, work: (sms: Sms, workspaceId: string) => Promise<T>): Promise<T> {
  const database = await call.database()
  const workspaceId = chooseWorkspace(database.read, call.options)
  // Loaded here: other commands start faster without the providers and the metadata of phone numbers.
  const [{ ensureServiceIdentity }, { systemEdges }, { wireSms }] = await Promise.all([
    import('../../domains/service-identity.js'),
    import('../../daemon/edges.js'),
    import('../../daemon/sms.js'),
  ])
  const { config, clock } = call
  const identity = await ensureServiceIdentity(database, config.service.mail_from, clock())
  const log = createLog(destination({ dest: 2, sync: true }), { level: 'info', format: 'pretty' }, false)
  const sms = wireSms({ config, clock, log, database, identity, edges: systemEdges() })
  try {
    return await work(sms, workspaceId)
  } finally {
    await sms.stop()
  }
}

function send(call: Call): Promise<Answer> {
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
    const { id, phone, expiresAt } = await sms.sendCode({ ...request, workspaceId })
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

function check(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 2)
  const phone = requiredWord(call.words, 0, 'PHONE')
  const code = requiredWord(call.words, 1, 'CODE')
  if (code === '' || code.length > MAX_CODE) throw new UsageError(`CODE: allowed: 1 to ${MAX_CODE} characters`)
  return withSms(call, async (sms, workspaceId) => {
    const checked = await sms.checkCode({ workspaceId, phone, code })
    return { json: checked, lines: [`${checked.status}: ${checked.message}`], failed: !checked.valid }
  })
}

/** As the API has it: `sms/check-code.ts`. */
const MAX_CODE = 20
