/**
 * The bytes of one batch of requests that go to a spool file. A value is written when its statement runs, behind the
 * conditions that its request begins with: what a quota refuses never reaches the disk.
 */

import type { WrittenPlace } from '../db/spool-files.js'
import type { StorageFault, Write } from '../db/write.js'
import type { SpooledValue, SpoolWriter } from './spool-writer.js'
import { listSpooled, withPlace } from './spooled-insert.js'

type Requests = readonly (readonly Write[])[]

const NONE: ReadonlyMap<Write, SpooledValue> = new Map()

export class SpooledBatch {
  private spooled = NONE
  /** The first value of the request that runs. */
  private first: WrittenPlace | null = null

  /** `writer` is null if all bytes are stored in the database. */
  constructor(private readonly writer: SpoolWriter | null) {}

  begin(requests: Requests): void {
    if (this.writer === null) return
    this.writer.begin()
    this.spooled = listSpooled(requests)
  }

  beginRequest(): void {
    this.first = null
  }

  /** The write as it is run; its bytes are written. Throws a `StorageFault`. */
  toStored(write: Write): Write {
    const value = this.spooled.get(write)
    if (this.writer === null || value === undefined) return write
    const place = this.writer.write(value)
    this.first ??= place
    return withPlace(write, place)
  }

  /** The request that ran has failed. Throws a `StorageFault`. */
  undoRequest(): void {
    if (this.first !== null) this.writer?.undo(this.first)
    this.first = null
  }

  /** The transaction was rolled back, and runs again. */
  undoAll(): void {
    this.writer?.takeBack()
  }

  /** Call it before the commit, whose rows name what was written. Throws a `StorageFault`. */
  sync(): void {
    this.writer?.sync()
  }

  /** The values are no longer held. */
  end(): void {
    this.spooled = NONE
    this.first = null
  }

  /**
   * The transaction has failed. If its sync failed, the commit may be there after a power cut, and its rows would name
   * the spooled bytes: these stay. A full disk has kept the commit from being written.
   */
  takeBack({ code }: StorageFault, { wasCommitting }: { readonly wasCommitting: boolean }): void {
    if (this.spooled.size === 0) return
    if (wasCommitting && code !== 'SQLITE_FULL') this.writer?.abandon()
    else this.writer?.takeBack()
  }
}
