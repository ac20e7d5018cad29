/**
 * Describes an act of the audit log as a sentence without its subject: `revoked the key “shop”`.
 *
 * A name comes from the details that were written with the act, or from the object that has the id now. If that
 * object was removed, the page shows its id.
 */
import type { components } from '../../api/session-schema.d.ts'
import { formatNumber } from '../../components/format.ts'
import { toWords } from '../../components/values.tsx'

export type Act = components['schemas']['AuditAct']
export type Names = Readonly<Record<string, string>>

interface Described {
  readonly target: string
  /** The name of the target, or its id. */
  readonly named: string
  /** A detail as text. It is empty if the detail is absent. */
  readonly text: (detail: string) => string
  /** The name of the object whose id a detail has, or the id. */
  readonly name: (detail: string) => string
}

type Describe = (act: Described) => string

const quote = (name: string): string => `“${name}”`
const article = (role: string): string => (role === 'member' ? 'a member' : `an ${role}`)
const ofRow =
  (verb: string, kind: string): Describe =>
  ({ text, target }) =>
    `${verb} the ${kind} ${quote(text('name') || target)}`
const ofDomain =
  (verb: string, rest = ''): Describe =>
  ({ text, target }) =>
    `${verb} the domain ${text('domain') || target}${rest}`
const ofQueue =
  (verb: string): Describe =>
  ({ text, target }) =>
    `${verb} the email ${text('email_id') || target}`

const sentences: ReadonlyMap<string, Describe> = new Map<string, Describe>([
  ['api_key.created', ofRow('created', 'key')],
  ['api_key.revoked', ({ named }) => `revoked the key ${quote(named)}`],
  ['domain.created', ofDomain('added')],
  ['domain.changed', ofDomain('changed the settings of')],
  ['domain.deleted', ofDomain('deleted')],
  ['domain.verified', ofDomain('verified')],
  ['domain.failed', ofDomain('stopped sending from', ', whose DNS records are missing')],
  ['domain.rotation_started', ofDomain('began to rotate the signing keys of')],
  ['domain.rotated', ofDomain('rotated the signing keys of')],
  ['domain.key_imported', ofDomain('imported a signing key of')],
  ['suppression.deleted', ({ text }) => `removed ${text('email')} from the suppression list`],
  ['suppressions.imported', ({ text }) => `imported suppressions: ${formatNumber(Number(text('added')))} added`],
  ['audience.deleted', ofRow('deleted', 'audience')],
  ['broadcast.sent', ofRow('sent', 'broadcast')],
  ['broadcast.paused', ofRow('paused', 'broadcast')],
  ['broadcast.resumed', ofRow('resumed', 'broadcast')],
  ['broadcast.cancelled', ofRow('cancelled', 'broadcast')],
  ['broadcast.deleted', ofRow('deleted', 'broadcast')],
  ['webhook.created', ({ text, named }) => `created a webhook to ${text('origin') || named}`],
  ['webhook.changed', ({ text, named }) => `changed the webhook to ${text('origin') || named}`],
  ['webhook.deleted', ({ text, named }) => `deleted the webhook to ${text('origin') || named}`],
  ['webhook.secret_rotated', ({ named }) => `replaced the secret of the webhook to ${named}`],
  ['webhook.disabled', ({ named, text }) => `disabled the webhook to ${named}: ${text('reason')}`],
  ['workspace.created', ({ text }) => `created the workspace ${quote(text('name'))}`],
  [
    'workspace.changed',
    ({ text }) =>
      text('name') ? `renamed the workspace to ${quote(text('name'))}` : 'changed the icon of the workspace',
  ],
  ['workspace.plan_changed', ({ text }) => `changed the plan to ${quote(text('plan'))}`],
  ['workspace.transferred', ({ name }) => `transferred the workspace from ${name('from')} to ${name('to')}`],
  ['workspace.deleted', ofRow('deleted', 'workspace')],
  ['workspace.made_operators', ({ target }) => `made ${target} the operator's workspace`],
  ['member.invited', ({ text }) => `invited ${text('email')} as ${article(text('role'))}`],
  ['member.joined', ({ text }) => `joined as ${article(text('role'))} with the address ${text('email')}`],
  ['member.role_changed', ({ name, text }) => `made ${name('user_id')} ${article(text('to'))}`],
  ['member.removed', ({ text }) => `removed the ${text('role') || 'member'} ${text('email')}`],
  ['invitation.cancelled', ({ named }) => `cancelled the invitation of ${named}`],
  ['user.password_set', ({ named }) => `set the password of ${named}`],
  ['user.totp_enabled', ({ named }) => `turned on the second factor of ${named}`],
  ['user.totp_disabled', ({ named }) => `turned off the second factor of ${named}`],
  ['user.recovery_codes_replaced', ({ named }) => `made new recovery codes for ${named}`],
  ['queue.held', ofQueue('held')],
  ['queue.released', ofQueue('released')],
  ['queue.retried', ofQueue('retried')],
  ['queue.deleted', ofQueue('removed from the queue')],
  ['breaker.released', ({ named }) => `released the mail of ${named} that the circuit breaker held`],
  ['hold_rule.added', ({ target, text }) => `made the hold rule ${target} for mail ${describeRule(text)}`],
  ['hold_rule.removed', ({ target, text }) => `ended the hold rule ${target} for mail ${describeRule(text)}`],
  ['sms.hold_released', ({ target }) => `released the hold of SMS to ${target}`],
])

function describeRule(text: (detail: string) => string): string {
  const places = [
    ['to', text('domain')],
    ['to', text('pattern')],
    ['from', text('sender')],
  ] as const
  return places.flatMap(([word, value]) => (value === '' ? [] : [`${word} ${value}`])).join(', ') || 'of the workspace'
}

/** If this page does not know an act, it shows the name that the log has. */
export function describeAct({ action, target, details }: Act, names: Names): string {
  const text = (detail: string): string => {
    const value = details[detail]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  }
  const name = (detail: string): string => names[text(detail)] ?? text(detail)
  const describe = sentences.get(action)
  const named = names[target] ?? target
  return describe === undefined
    ? `${toWords(action.replace('.', ' '))}: ${named}`
    : describe({ target, named, text, name })
}

const actors: Names = { operator: 'The operator, on the command line', service: 'Posthorn' }

export function describeActor({ actor }: Act, names: Names): string {
  return names[actor] ?? actors[actor] ?? actor
}
