/**
 * Records which messages are being processed, in a file that outlives the process: a message that was in progress
 * at two crashes is taken for their cause.
 *
 * Each message in progress has a slot of fixed size, written in place before it is read. Afterwards it is written for the next
 * message, or cleared within a tenth of a second, so a message that was finished just before a crash may count as in progress.
 * The file is not synchronized to the disk: the page cache outlives a process, and after a power failure no
 * message is to blame. So it costs a few microseconds a message. A clean stop empties the file.
 *
 * A disk that accepts no write costs the guard, not the mail: it is logged once.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCodeOf } from '../../../base/platform/errors.js'
import type { Log } from '../../../base/platform/log.js'

export interface GuardedMessage {
  readonly id: string
  readonly workspaceId: string
  /** Crashes of the process while the message was in progress. */
  readonly deaths: number
}

const SLOT_SIZE = 128
/** Milliseconds for which the slot of a finished message may wait for the next one. */
const CLEAR_DELAY = 100
const NEWLINE = 0x0a

export class CrashGuard {
  /** Messages that were in progress at a crash and have not been finished since. */
  readonly suspects: readonly GuardedMessage[]
  private readonly fd: number
  private readonly slots = new Map<string, number>()
  private readonly free: number[] = []
  /** Slots that still name finished messages. */
  private stale: number[] = []
  private clearTimer: NodeJS.Timeout | null = null
  private readonly deaths: Map<string, number>
  private hasWarned = false
  private isClosed = false

  constructor(
    private readonly file: string,
    private readonly log: Pick<Log, 'warn'>,
  ) {
    mkdirSync(dirname(file), { recursive: true })
    this.suspects = readSlots(file)
    this.fd = openSync(file, 'w', 0o600)
    this.deaths = new Map(this.suspects.map(({ id, deaths }) => [id, deaths]))
    // Their counts stay in the file until they are finished, but a crash while they wait does not count.
    for (const suspect of this.suspects) this.recordState('waits', suspect)
  }

  /** Called before the message is read. */
  begin(message: Omit<GuardedMessage, 'deaths'>): void {
    this.recordState('held', message)
  }

  /** Called when its result is on disk, or when it waits again. */
  finish(id: string): void {
    const slot = this.slots.get(id)
    if (slot === undefined) return
    this.slots.delete(id)
    this.deaths.delete(id)
    this.stale.push(slot)
    this.clearTimer ??= setTimeout(() => this.clearStale(), CLEAR_DELAY).unref()
  }

  /** Called at a clean stop. */
  close(): void {
    if (this.clearTimer !== null) clearTimeout(this.clearTimer)
    this.isClosed = true
    ftruncateSync(this.fd)
    closeSync(this.fd)
  }

  private recordState(state: 'held' | 'waits', { id, workspaceId }: Omit<GuardedMessage, 'deaths'>): void {
    const slot = this.slots.get(id) ?? this.stale.pop() ?? this.free.pop() ?? this.slots.size
    this.slots.set(id, slot)
    this.writeSlot(slot, `${state} ${this.deaths.get(id) ?? 0} ${workspaceId} ${id}`)
  }

  private clearStale(): void {
    this.clearTimer = null
    for (const slot of this.stale) this.writeSlot(slot, '')
    this.free.push(...this.stale)
    this.stale = []
  }

  private writeSlot(slot: number, text: string): void {
    // Its descriptor may now be that of another file.
    if (this.isClosed) return
    const line = Buffer.alloc(SLOT_SIZE, ' ')
    line.write(text, 'latin1')
    line[SLOT_SIZE - 1] = NEWLINE
    try {
      writeSync(this.fd, line, 0, SLOT_SIZE, slot * SLOT_SIZE)
    } catch (error) {
      const { file } = this
      if (!this.hasWarned) this.log.warn({ err: error, file }, 'the list of messages in progress cannot be stored')
      this.hasWarned = true
    }
  }
}

/** The slots that the last process left; its crash counts for messages that were in progress. */
function readSlots(file: string): readonly GuardedMessage[] {
  const lines = readFileOrEmpty(file).split('\n')
  return lines.flatMap((line) => {
    const [, state, count, workspaceId, id] = /^(held|waits) (\d{1,9}) (\S+) (\S+) *$/.exec(line) ?? []
    if (id === undefined || workspaceId === undefined) return []
    return [{ id, workspaceId, deaths: Number(count) + (state === 'held' ? 1 : 0) }]
  })
}

function readFileOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return ''
    throw error
  }
}
