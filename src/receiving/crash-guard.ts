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
import { errorCodeOf } from '../platform/errors.js'
import type { Log } from '../platform/log.js'

export interface GuardedMessage {
  readonly id: string
  readonly workspaceId: string
  /** Crashes of the process while the message was in progress. */
  readonly deaths: number
}

export interface CrashGuard {
  /** Messages that were in progress at a crash and have not been finished since. */
  readonly suspects: readonly GuardedMessage[]
  /** Called before the message is read. */
  readonly begin: (message: Omit<GuardedMessage, 'deaths'>) => void
  /** Called when its result is on disk, or when it waits again. */
  readonly finish: (id: string) => void
  /** Called at a clean stop. */
  readonly close: () => void
}

const SLOT_SIZE = 128
/** Milliseconds for which the slot of a finished message may wait for the next one. */
const CLEAR_DELAY = 100
const NEWLINE = 0x0a

export function openCrashGuard(file: string, log: Pick<Log, 'warn'>): CrashGuard {
  mkdirSync(dirname(file), { recursive: true })
  const suspects = readSlots(file)
  const fd = openSync(file, 'w', 0o600)
  const slots = new Map<string, number>()
  const free: number[] = []
  /** Slots that still name finished messages. */
  let stale: number[] = []
  let clearTimer: NodeJS.Timeout | null = null
  const deaths = new Map(suspects.map((held) => [held.id, held.deaths]))
  let hasWarned = false
  let isClosed = false

  function writeSlot(slot: number, text: string): void {
    // Its descriptor may be that of another file by now.
    if (isClosed) return
    const line = Buffer.alloc(SLOT_SIZE, ' ')
    line.write(text, 'latin1')
    line[SLOT_SIZE - 1] = NEWLINE
    try {
      writeSync(fd, line, 0, SLOT_SIZE, slot * SLOT_SIZE)
    } catch (error) {
      if (!hasWarned) log.warn({ err: error, file }, 'the list of messages in hand cannot be stored')
      hasWarned = true
    }
  }

  function recordState(state: 'held' | 'waits', { id, workspaceId }: Omit<GuardedMessage, 'deaths'>): void {
    const slot = slots.get(id) ?? stale.pop() ?? free.pop() ?? slots.size
    slots.set(id, slot)
    writeSlot(slot, `${state} ${deaths.get(id) ?? 0} ${workspaceId} ${id}`)
  }

  function clearStale(): void {
    clearTimer = null
    for (const slot of stale) writeSlot(slot, '')
    free.push(...stale)
    stale = []
  }

  // Their counts stay in the file until they are finished, but a crash while they wait does not count.
  for (const suspect of suspects) recordState('waits', suspect)

  return {
    suspects,
    begin: (message) => recordState('held', message),
    finish: (id) => {
      const slot = slots.get(id)
      if (slot === undefined) return
      slots.delete(id)
      deaths.delete(id)
      stale.push(slot)
      clearTimer ??= setTimeout(clearStale, CLEAR_DELAY).unref()
    },
    close: () => {
      if (clearTimer !== null) clearTimeout(clearTimer)
      isClosed = true
      ftruncateSync(fd)
      closeSync(fd)
    },
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
