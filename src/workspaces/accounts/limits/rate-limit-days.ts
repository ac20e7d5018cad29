/**
 * The requests of the day that ends now, in memory and in the table `usage`, so that the daily limit survives a
 * restart.
 *
 * The table is read once, at the start. `save` adds what was counted since to the table once a minute and at the stop,
 * so a crash loses up to a minute of counts. Where several nodes count, it also reads what the others have saved, of the
 * owners that it saves itself. So a limit of a day may be exceeded by what the other nodes admit in up to two minutes.
 *
 * Memory: at most 145 slices for each owner whose plan limits the day.
 */
import { createSerialRunner } from '../../../base/platform/serial-runner.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { oldestSliceStart, type Slice, slidingDay } from './rate-limit-window.js'
import { addToExisting, bucketsSince, REQUESTS, type UsageRow } from './usage.js'

/** Rows of one commit and of one read. */
const PAGE_SIZE = 500

interface HeldSlice {
  readonly workspaceId: string
  readonly start: number
  count: number
  /** The part of `count` that is not in the table yet. */
  unsaved: number
}

/** A page of the counts of all kinds, in the order of the key. */
const countsAfter = prepareRead<Pick<UsageRow, 'workspace_id' | 'kind' | 'bucket'> & { slot: number }>()(
  ({ db, slot }) =>
    db
      .selectFrom('usage')
      .select(['workspace_id', 'kind', 'bucket', 'slot', 'count'])
      .where((eb) =>
        eb(
          eb.refTuple('workspace_id', 'kind', 'bucket', 'slot'),
          '>',
          eb.tuple(slot('workspace_id'), slot('kind'), slot('bucket'), slot('slot')),
        ),
      )
      .orderBy('workspace_id')
      .orderBy('kind')
      .orderBy('bucket')
      .orderBy('slot')
      .limit(PAGE_SIZE),
)

export class DailyRequests {
  /** By owner and by start. */
  private readonly owners = new Map<string, Map<number, HeldSlice>>()
  /** The slices that have a part which is not in the table yet. */
  private readonly unsaved = new Set<HeldSlice>()
  /** Saves one after the other, so that no count is saved twice. */
  private readonly inTurn = createSerialRunner()

  private reads = 0

  private constructor(
    private readonly store: Store,
    private readonly isShared: boolean,
  ) {}

  /** Reads the day that ends now. `isShared` says that other nodes count too. */
  static async open(store: Store, now: number, isShared = false): Promise<DailyRequests> {
    const days = new DailyRequests(store, isShared)
    const since = oldestSliceStart(slidingDay, now)
    let place: Parameters<typeof countsAfter>[1] = { workspace_id: '', kind: '', bucket: 0, slot: 0 }
    for (;;) {
      const page = await countsAfter(store.read, place)
      for (const { workspace_id, kind, bucket, count } of page)
        if (kind === REQUESTS && bucket >= since) days.sliceAt(workspace_id, bucket).count += count
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE_SIZE) return days
      place = last
      await waitForStep()
    }
  }

  /** It grows when the slices have changed by what other nodes have counted. */
  get revision(): number {
    return this.reads
  }

  /** The requests of the workspace in the day that ends now, oldest first. */
  readSlices(workspaceId: string, now: number): readonly Slice[] {
    const since = oldestSliceStart(slidingDay, now)
    return [...(this.owners.get(workspaceId)?.values() ?? [])]
      .filter(({ start }) => start >= since)
      .sort((one, other) => one.start - other.start)
      .map(({ start, count }) => ({ start, count }))
  }

  count(workspaceId: string, now: number): void {
    const slice = this.sliceAt(workspaceId, now - (now % slidingDay.slice))
    slice.count += 1
    slice.unsaved += 1
    this.unsaved.add(slice)
  }

  /** Saves what was counted, and forgets what is older than the day that ends now. */
  save(now: number): Promise<void> {
    return this.inTurn(async () => {
      const all = [...this.unsaved]
      for (let from = 0; from < all.length; from += PAGE_SIZE) await this.savePortion(all.slice(from, from + PAGE_SIZE))
      this.forgetOld(now)
      if (this.isShared) await this.readAgain(new Set(all.map(({ workspaceId }) => workspaceId)), now)
    })
  }

  private async readAgain(owners: ReadonlySet<string>, now: number): Promise<void> {
    const since = oldestSliceStart(slidingDay, now)
    for (const workspaceId of owners) {
      const buckets = await bucketsSince(this.store.read, { workspaceId, kind: REQUESTS, since })
      for (const { bucket, count } of buckets) {
        const slice = this.sliceAt(workspaceId, bucket)
        slice.count = count + slice.unsaved
      }
    }
    this.reads += 1
  }

  private async savePortion(portion: readonly HeldSlice[]): Promise<void> {
    const saved = portion.map((slice) => ({ slice, count: slice.unsaved }))
    await this.store.commit(
      saved.map(({ slice: { workspaceId, start }, count }) =>
        addToExisting({ workspace_id: workspaceId, kind: REQUESTS, bucket: start, count }),
      ),
    )
    for (const { slice, count } of saved) {
      slice.unsaved -= count
      if (slice.unsaved === 0) this.unsaved.delete(slice)
    }
  }

  /** Slices stand in the order in which they were begun, so it looks at the first ones of each owner only. */
  private forgetOld(now: number): void {
    const since = oldestSliceStart(slidingDay, now)
    for (const [workspaceId, slices] of this.owners) {
      for (const [start, { unsaved }] of slices) {
        if (start >= since || unsaved > 0) break
        slices.delete(start)
      }
      if (slices.size === 0) this.owners.delete(workspaceId)
    }
  }

  private sliceAt(workspaceId: string, start: number): HeldSlice {
    const slices = this.owners.get(workspaceId) ?? new Map<number, HeldSlice>()
    this.owners.set(workspaceId, slices)
    const held = slices.get(start) ?? { workspaceId, start, count: 0, unsaved: 0 }
    slices.set(start, held)
    return held
  }
}
