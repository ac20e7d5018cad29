/**
 * Rechecks sending domains in DNS. It checks each minute those that are due, a few at a time, and at once when a command
 * may have changed something.
 *
 * Each check sets the time of the next one in the domain's row, so a daemon that was stopped catches up. If a check fails
 * because of a fault, or because another workspace has the name verified, we postpone the domain, so that it does not
 * delay the others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { DAY, HOUR } from '../../base/platform/time-units.js'
import { prepareWrite } from '../../base/storage/db/prepared.js'
import { ConstraintViolated, StorageFault } from '../../base/storage/db/write.js'
import { advanceRotation, type RotationDeps } from './rotate-keys.js'
import { type SendingDomain, verifiedByName } from './rows/sending-domains.js'
import type { DomainEventType } from './verification/check-outcome.js'
import { type CheckedDomain, checkDomain, domainsToCheck } from './verification/domain-checks.js'
import { findHiddenKeys } from './verification/judge-records.js'

const CHECK_INTERVAL = 60_000
const PAGE_SIZE = 5
const PAUSE = 20

export interface RecheckDeps extends RotationDeps {
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
  /** It is called when a domain has changed, so that caches drop it. */
  readonly onChanged: (place: { readonly workspaceId: string; readonly domain: DomainName }) => void
}

export class RecheckRunner {
  private abortController = new AbortController()
  private running: Promise<void> | null = null
  private again = false
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly deps: RecheckDeps) {}

  /** Checks what is due now and then each minute. It may be called again after `stop`. */
  start(): void {
    if (this.abortController.signal.aborted) this.abortController = new AbortController()
    // The timer follows the monotonic clock, so a step of the wall clock neither misses a check nor delays one.
    this.timer ??= setInterval(() => this.wake(), CHECK_INTERVAL).unref()
    this.wake()
  }

  /** Checks what is due now, unless another node does it. */
  wake(): void {
    if (this.timer === null) return
    this.again = true
    this.running ??= this.recheckUntilDone()
  }

  async stop(): Promise<void> {
    this.abortController.abort()
    if (this.timer !== null) clearInterval(this.timer)
    this.timer = null
    await this.running
  }

  private async recheckUntilDone(): Promise<void> {
    const { signal } = this.abortController
    do {
      this.again = false
      try {
        await recheckDomains(this.deps, signal)
      } catch (err) {
        this.deps.log.error({ err }, 'sending domains cannot be checked')
      }
    } while (this.again && !signal.aborted)
    this.running = null
  }
}

const postponeCheck = prepareWrite<{ workspaceId: string; id: string; until: number }>(({ db, slot }) =>
  db
    .updateTable('domains')
    .set({ next_check_at: slot('until') })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id')),
)

/**
 * Resolves when no domain is due, or after the current page when `signal` aborts. Rejects if nothing can be stored.
 * The next round tries again.
 */
export async function recheckDomains(deps: RecheckDeps, signal: AbortSignal): Promise<void> {
  const { read, clock } = deps
  let cursor = { afterTime: -1, afterId: '' }
  while (!signal.aborted) {
    const page = await domainsToCheck(read, { ...cursor, now: clock(), limit: PAGE_SIZE })
    const last = page.at(-1)
    if (last === undefined) return
    await Promise.all(page.map((row) => recheck(deps, row)))
    cursor = { afterTime: last.next_check_at ?? 0, afterId: last.id }
    await sleep(PAUSE)
  }
}

async function recheck(deps: RecheckDeps, row: SendingDomain): Promise<void> {
  const { read, commit, clock, log } = deps
  const { id, workspace_id: workspaceId, domain } = row
  const postpone = (wait: number): Promise<void> => commit([postponeCheck({ workspaceId, id, until: clock() + wait })])
  try {
    if ((await verifiedByName(read, { domain })).some((other) => other.id !== id)) await postpone(DAY)
    else await handleChecked(deps, row, await checkDomain(deps, row, null, clock()))
  } catch (err) {
    if (err instanceof StorageFault) throw err
    // Another workspace was first, or there is a fault. An immediate second check would not help.
    if (!(err instanceof ConstraintViolated)) log.error({ err, domain }, 'a sending domain cannot be checked')
    await postpone(HOUR).catch((fault: unknown) =>
      log.error({ err: fault, domain }, 'the check of a sending domain cannot be postponed'),
    )
  }
}

async function handleChecked(
  deps: RecheckDeps,
  before: SendingDomain,
  checked: CheckedDomain | undefined,
): Promise<void> {
  if (checked === undefined) return
  const { row, event, findings } = checked
  const about = { workspaceId: row.workspace_id, domain: row.domain }
  if (event !== null) logEvent(deps.log, row, event)
  const hidden = findHiddenKeys(findings)
  if (hidden.length > 0) {
    const names = hidden.map(({ name }) => name)
    deps.log.warn({ ...about, names }, 'the CNAME is right, but the service zone does not answer with the key')
  }
  if (row.status !== before.status) deps.onChanged(about)
  if (row.status !== 'verified' || row.rotation_asked_at === null) return
  if ((await advanceRotation(deps, row, deps.clock())).kind !== 'done') return
  deps.log.info(about, 'another DKIM key signs from now on')
  deps.onChanged(about)
}

const logMessages: Readonly<Record<DomainEventType, string>> = {
  'domain.verified': 'DNS has all records of the domain: it is verified',
  'domain.broken': 'DNS no longer has all records of the domain: it fails in 72 hours',
  'domain.failed': 'DNS did not have all records of the domain for 72 hours: it can no longer send',
}

function logEvent(
  log: RecheckDeps['log'],
  { workspace_id: workspaceId, domain }: SendingDomain,
  eventType: DomainEventType,
): void {
  const about = { workspaceId, domain }
  if (eventType === 'domain.verified') log.info(about, logMessages[eventType])
  else log.warn(about, logMessages[eventType])
}
