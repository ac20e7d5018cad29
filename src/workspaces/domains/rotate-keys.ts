/**
 * Moves a domain's signatures to its other DKIM key. The customer's DNS does not change. If the customer publishes
 * keys by hand, the rotation waits until the customer has published the new one.
 *
 * A rotation takes minutes or days (`rotation-step.ts`), so its state is in the database. The next check of the
 * domain, by the daemon or a command, makes the next step. Each step is one commit that misses if another process
 * made it.
 */

import { Refusal } from '../../base/mail/refusal.js'
import { prepareWrite } from '../../base/storage/db/prepared.js'
import { tryCommit } from '../../base/storage/db/write.js'
import type { Selector } from '../../base/storage/tables/domain-tables.js'
import { type Actor, daemonActor, recordAuditEntry } from '../accounts/access/audit-log.js'
import { decideRotationStep, type RotationStep } from './dkim/rotation-step.js'
import { type DkimKeyRow, dkimKeysOf, startSigning, stopSigning } from './dkim/signing-keys.js'
import { replaceIdleKey } from './new-domain.js'
import { domainById, type SendingDomain } from './rows/sending-domains.js'
import { nextCheckAt } from './verification/check-outcome.js'
import { keyTargetOf } from './verification/dns-records.js'
import type { DomainCheckDeps } from './verification/domain-checks.js'
import { judgeKey } from './verification/judge-records.js'
import { lookUpKey } from './verification/look-up-records.js'

export interface RotationDeps extends DomainCheckDeps {
  /** Milliseconds for which a key that has signed stays published. Each step reads it. */
  readonly retirementTime: () => number
  /** Milliseconds for which a key that replaced another one is published before it signs. */
  readonly settlingTime: number
}

/** What the rotation waits for. `done` means that the other key signs, by this step or by that of another process. */
export type RotationProgress =
  | Exclude<RotationStep, { readonly kind: 'replace' | 'switch' }>
  | { readonly kind: 'done' }

interface DomainRef {
  readonly workspaceId: string
  readonly id: string
}

/** Misses if a rotation is under way, or if the domain is no longer verified. */
const startRotation = prepareWrite<DomainRef & { now: number }>(
  ({ db, slot }) =>
    db
      .updateTable('domains')
      .set({ rotation_asked_at: slot('now'), next_check_at: slot('now') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'verified')
      .where('rotation_asked_at', 'is', null),
  1,
)

/** Misses if the rotation has ended already. */
const endRotation = prepareWrite<DomainRef & { next: number | null }>(
  ({ db, slot }) =>
    db
      .updateTable('domains')
      .set({ rotation_asked_at: null, next_check_at: slot('next') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('rotation_asked_at', 'is not', null),
  1,
)

/**
 * Begins a rotation, or continues the one that is under way. With `forced`, the operator rotates at once, without
 * DNS and without a wait. Throws a Refusal `domain-not-verified`.
 */
export async function rotateKeys(
  deps: RotationDeps,
  row: SendingDomain,
  { actor, now, forced = false }: { readonly actor: Actor; readonly now: number; readonly forced?: boolean },
): Promise<RotationProgress> {
  const { id, workspace_id: workspaceId, domain, status } = row
  if (status !== 'verified') {
    throw new Refusal('domain-not-verified', `${domain} is not verified: a new key could not be verified in DNS`, {
      domain,
    })
  }
  const details = { domain, ...(forced ? { forced } : {}) }
  const act = recordAuditEntry({ workspaceId, actor, action: 'domain.rotation_started', target: id, at: now, details })
  await tryCommit(deps.commit([startRotation({ workspaceId, id, now }), act]))
  return advanceRotation(deps, row, now, actor, forced)
}

/** Makes all steps that are possible now. */
export async function advanceRotation(
  deps: RotationDeps,
  { id, workspace_id: workspaceId }: Pick<SendingDomain, 'id' | 'workspace_id'>,
  now: number,
  actor: Actor = daemonActor,
  forced = false,
): Promise<RotationProgress> {
  for (;;) {
    const [row] = await domainById(deps.read, { workspaceId, id })
    if (row === undefined || row.rotation_asked_at === null) return { kind: 'done' }
    const keys = await dkimKeysOf(deps.read, { workspaceId, domain: row.domain })
    const step = await findNextStep(deps, row, keys, now, forced)
    const key = keys.find(({ selector }) => selector === step.selector)
    if (step.kind === 'replace') await replaceKey(deps, row, key?.id ?? null, step.selector, now)
    else if (step.kind !== 'switch') return step
    else if (key !== undefined) await switchSigningKey(deps, row, key, actor, now)
  }
}

/** Asks DNS only if the next step depends on its answer. */
async function findNextStep(
  deps: RotationDeps,
  row: SendingDomain,
  keys: readonly DkimKeyRow[],
  now: number,
  forced: boolean,
): Promise<RotationStep> {
  if (forced) {
    const ready = keys.map((key) => ({ ...key, usable_at: 0 }))
    return decideRotationStep({ keys: ready, retirementTime: 0, visible: true, now })
  }
  const retirementTime = deps.retirementTime()
  const step = decideRotationStep({ keys, retirementTime, visible: false, now })
  const key = keys.find(({ selector }) => selector === step.selector)
  if (step.kind !== 'unseen' || key === undefined) return step
  return decideRotationStep({ keys, retirementTime, visible: await isKeyVisible(deps, row, step.selector, key), now })
}

async function isKeyVisible(
  { resolver, names }: RotationDeps,
  row: SendingDomain,
  selector: Selector,
  key: DkimKeyRow,
): Promise<boolean> {
  const answers = await lookUpKey(resolver, row.domain, selector)
  return judgeKey(answers, keyTargetOf(row, selector, names.zone), key.public_record).visible
}

async function replaceKey(
  { commit, settlingTime }: RotationDeps,
  { workspace_id: workspaceId, domain }: SendingDomain,
  old: string | null,
  selector: Selector,
  now: number,
): Promise<void> {
  const place = { workspaceId, domain: domain, selector, now }
  await tryCommit(commit(await replaceIdleKey(place, old, now + settlingTime)))
}

async function switchSigningKey(
  { commit, random }: RotationDeps,
  row: SendingDomain,
  key: DkimKeyRow,
  actor: Actor,
  now: number,
): Promise<void> {
  const { id, workspace_id: workspaceId, domain } = row
  const details = { domain, selector: key.selector }
  const writes = [
    stopSigning({ workspaceId, domain, now }),
    startSigning({ workspaceId, id: key.id }),
    endRotation({ workspaceId, id, next: nextCheckAt({ ...row, rotation_asked_at: null }, now, random) }),
    recordAuditEntry({ workspaceId, actor, action: 'domain.rotated', target: id, at: now, details }),
  ]
  await tryCommit(commit(writes))
}
