/** The bytes of one batch of requests that are in a spool file: written once, however often its transaction runs. */
import type { StorageFault, Write } from '../writer/write.js'
import type { SpoolPlace, WrittenPlace } from './spool-files.js'
import type { SpoolWriter } from './spool-writer.js'
import { listSpooled, withPlace } from './spooled-insert.js'

type Requests = readonly (readonly Write[])[]

const NO_PLACES: ReadonlyMap<Write, WrittenPlace> = new Map()

export class SpooledBatch {
  private places = NO_PLACES

  /** `writer` null: all bytes are stored in the database. */
  constructor(private readonly writer: SpoolWriter | null) {}

  /** The places of the batch before are forgotten. Throws a `StorageFault`. */
  begin(requests: Requests): void {
    this.places = NO_PLACES
    if (this.writer === null) return
    const spooled = listSpooled(requests)
    if (spooled.size === 0) return
    const found = this.writer.append([...spooled.values()]).values()
    const places = new Map<Write, WrittenPlace>()
    for (const write of spooled.keys()) {
      const { value } = found.next()
      if (value !== undefined) places.set(write, value)
    }
    this.places = places
  }

  /** The write as it is run. */
  toStored(write: Write): Write {
    const place = this.places.get(write)
    return place === undefined ? write : withPlace(write, place)
  }

  /** What these requests of the batch have spooled. */
  placesOf(requests: Requests): readonly SpoolPlace[] {
    return requests.flat().flatMap((write) => this.places.get(write) ?? [])
  }

  /**
   * The transaction has failed. If its sync did, the commit may be there after a power cut, and its rows would name
   * what was spooled: that stays. A full disk has kept the commit from being written.
   */
  takeBack({ code }: StorageFault, { wasCommitting }: { readonly wasCommitting: boolean }): void {
    if (this.places.size === 0) return
    if (wasCommitting && code !== 'SQLITE_FULL') this.writer?.abandon()
    else this.writer?.takeBack()
  }
}
