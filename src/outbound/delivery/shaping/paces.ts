/**
 * The paces of all providers, by provider and source address.
 *
 * What the replies teach is kept on disk: each change marks its pace, and one commit some seconds later writes all
 * marked paces. A provider that has never refused anything has no row. Limit: the paces and hosts that were used last
 * are remembered.
 */
import { type Clock, formatTimestamp } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { PaceSignal } from '../../../records/messages/replies/pace-signal.js'
import { type Host, pathOf } from '../hosts/destination.js'
import { PaceControl } from './pace-control.js'
import type { PaceId, PaceState, PaceTimer } from './pace-state.js'
import { MAX_PACES, removePace, resetPaces, restorePaces, storePace } from './pace-store.js'
import { providerKeyOf } from './provider-key.js'
import type { Outage } from './unreachable-hosts.js'

const unknownProvider: StartingLimits = { sessions: 2, messagesPerSession: null }

const byProvider: Readonly<Record<string, StartingLimits>> = {
  google: { sessions: 4, messagesPerSession: 100 },
  microsoft: { sessions: 4, messagesPerSession: null },
  yahoo: { sessions: 3, messagesPerSession: 20 },
  apple: { sessions: 2, messagesPerSession: 50 },
  proton: { sessions: 2, messagesPerSession: 50 },
  gmx: { sessions: 3, messagesPerSession: 100 },
  orange: { sessions: 2, messagesPerSession: 50 },
  mailru: { sessions: 3, messagesPerSession: 50 },
}

const MAX_HOSTS = 20_000
/** Milliseconds from a change to its commit. */
const WRITE_DELAY = 3_000

interface PacesDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  /** The name of this node. */
  readonly node: string
  readonly timer: Omit<PaceTimer, 'toWall'>
  readonly onRefused: (id: PaceId, signal: PaceSignal) => void
}

export class Paces {
  private readonly controls = createLruCache<PaceControl>({
    max: MAX_PACES,
    onRemove: (control) => this.noteRemoved(control),
  })
  /** The paces by the path of the host (`pathOf`). */
  private readonly byPath = createLruCache<PaceControl>({ max: MAX_HOSTS })
  private readonly changed = new Set<PaceControl>()
  private readonly removed = new Set<PaceControl>()
  private readonly timer: PaceTimer
  private writeTimer: NodeJS.Timeout | null = null
  private listener: () => void = () => undefined

  constructor(private readonly deps: PacesDeps) {
    const { timer, clock } = deps
    this.timer = { ...timer, toWall: (at) => Math.round(clock() + at - timer.now()) }
  }

  /** Loads what was learned before the last stop. */
  async load(): Promise<void> {
    const { read, node, clock, timer } = this.deps
    const at = clock()
    for (const { id, state } of await restorePaces(read, node, { offset: at - timer.now(), at })) this.add(id, state)
  }

  /** Sets a listener for the moment when an entry that waits in memory may find room. */
  onRoom(listener: () => void): void {
    this.listener = listener
  }

  /** Returns the pace of the host from the address from which its session is opened. */
  of(host: Host): PaceControl {
    const path = pathOf(host)
    const known = this.byPath.get(path)
    if (known !== undefined) return known
    const id = { provider: providerKeyOf(host), source: host.source ?? '' }
    const control = this.controls.get(keyOf(id)) ?? this.add(id, stateAtFirst(id, host))
    this.byPath.set(path, control)
    return control
  }

  /** Finds the pace of a known host by its path (`pathOf`). */
  readonly find = (path: string): PaceControl | undefined => this.byPath.get(path)

  /** Returns a pause of the provider of these hosts in which entries wait in the database. */
  findPause([host]: readonly Host[]): Outage | null {
    return host === undefined ? null : this.of(host).outage
  }

  /** Lists the paces of all providers in memory. */
  list(): readonly PaceControl[] {
    return [...this.controls.values()]
  }

  /** Forgets the paces that the operator has reset. */
  async reload(): Promise<void> {
    const ids = await this.tryReadReset()
    if (ids.length === 0) return
    for (const id of ids) this.forget(id)
    this.listener()
    await this.tryWrite(ids)
  }

  /** Turns away entries that wait for a permit, so that a slow provider does not delay the stop. */
  stopWaiting(): void {
    const outage = { kind: 'outage', until: this.deps.clock(), why: 'the next start of the service' } as const
    for (const control of this.controls.values()) control.stopWaiting(outage)
  }

  /** Writes the changed paces. */
  async stop(): Promise<void> {
    if (this.writeTimer !== null) clearTimeout(this.writeTimer)
    await this.tryWrite([])
  }

  private async tryReadReset(): Promise<readonly PaceId[]> {
    try {
      return await resetPaces(this.deps.read, { node: this.deps.node })
    } catch (error) {
      this.deps.log.error({ err: error }, 'the paces of providers could not be read')
      return []
    }
  }

  private forget(id: PaceId): void {
    const control = this.controls.peek(keyOf(id))
    this.controls.delete(keyOf(id))
    if (control === undefined) return
    this.changed.delete(control)
    for (const path of [...this.byPath.rkeys()]) if (this.byPath.peek(path) === control) this.byPath.delete(path)
  }

  private add(id: PaceId, state: PaceState): PaceControl {
    const { onRefused, log } = this.deps
    const { messagesPerSession } = startingLimitsOf(id.provider)
    const control = new PaceControl(id, state, messagesPerSession, {
      ...{ timer: this.timer, onRefused },
      onRoom: () => this.listener(),
      onChange: (changed) => this.noteChange(changed),
      onOutage: ({ provider, source }, { until, why }) =>
        log.info({ provider, source, next: formatTimestamp(until), why }, 'a provider has asked for a pause'),
    })
    this.controls.set(keyOf(id), control)
    return control
  }

  private noteChange(control: PaceControl): void {
    this.changed.add(control)
    this.writeSoon()
  }

  private noteRemoved(control: PaceControl): void {
    if (!control.isLearned) return
    this.removed.add(control)
    this.writeSoon()
  }

  private writeSoon(): void {
    this.writeTimer ??= setTimeout(() => {
      this.writeTimer = null
      void this.tryWrite([])
    }, WRITE_DELAY)
  }

  /** Writes the marked paces. What a fault keeps from being written is written with the next change. */
  private async tryWrite(reset: readonly PaceId[]): Promise<void> {
    const { clock, commit, node, log, timer } = this.deps
    const changed = [...this.changed].filter((control) => this.controls.peek(keyOf(control.id)) === control)
    const removed = [...this.removed].filter(({ id }) => !this.controls.has(keyOf(id)))
    this.changed.clear()
    this.removed.clear()
    const offset = clock() - timer.now()
    const stored = changed.map(({ id, state }) => storePace(id, state, { offset, at: clock() }))
    const writes = [...[...reset, ...removed.map(({ id }) => id)].map((id) => removePace({ ...id, node })), ...stored]
    if (writes.length === 0) return
    try {
      await commit(writes)
    } catch (error) {
      for (const control of changed) this.changed.add(control)
      for (const control of removed) this.removed.add(control)
      log.error({ err: error }, 'the paces of providers could not be stored')
    }
  }
}

function stateAtFirst({ provider }: PaceId, { isRouted }: Host): PaceState {
  const size = isRouted === true ? Number.POSITIVE_INFINITY : startingLimitsOf(provider).sessions
  return { window: { size, ceiling: null, ceilingAt: 0 }, messages: null, rate: null, rateRefusedAt: 0, pause: null }
}

function keyOf({ provider, source }: PaceId): string {
  return `${provider} ${source}`
}

interface StartingLimits {
  /** The number of sessions at first. The window grows from there. */
  readonly sessions: number
  /** Null if only our own limit applies. */
  readonly messagesPerSession: number | null
}

/**
 * Says with how many sessions mail to a provider begins, and how many messages a session gets, until its replies teach
 * more.
 *
 * The numbers are cautious guesses of November 2026, from what is commonly known of these providers. They were not
 * compared with the providers' pages, and need not be right: they only save the first refusals.
 *
 * `provider` is an id of `mail/mailbox-providers`, or another name.
 */
function startingLimitsOf(provider: string): StartingLimits {
  return byProvider[provider] ?? unknownProvider
}
