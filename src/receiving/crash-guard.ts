/**
 * Which messages are being looked at now, in a file that outlives the process: one that was in hand
 * when the process died, twice, is what it dies of.
 *
 * A slot for each message in hand, of a fixed size, written in place before the message is looked at
 * and emptied afterwards. It is not synchronized to the disk: the page cache outlives a process, and
 * after a power cut no message is to blame. So it costs a few microseconds a message. A clean end
 * empties the file.
 *
 * A disk that takes no write costs the guard, not the mail: it is told of once.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCodeOf } from '../platform/errors.js'
import type { Log } from '../platform/log.js'

export interface GuardedMessage {
  readonly id: string
  readonly workspaceId: string
  /** Of the process, while it was in hand. */
  readonly deaths: number
}

export interface CrashGuard {
  /** Those that were in hand when the process died, and were not over since. */
  readonly suspects: readonly GuardedMessage[]
  /** Before it is looked at. */
  readonly begin: (message: Omit<GuardedMessage, 'deaths'>) => void
  /** What came of it is on disk, or it waits again. */
  readonly finish: (id: string) => void
  /** A clean end. */
  readonly close: () => void
}

const SLOT_SIZE = 128
const NEWLINE = 0x0a

export function openCrashGuard(file: string, log: Pick<Log, 'warn'>): CrashGuard {
  mkdirSync(dirname(file), { recursive: true })
  const suspects = readSlots(file)
  const fd = openSync(file, 'w', 0o600)
  const slots = new Map<string, number>()
  const free: number[] = []
  const deaths = new Map(suspects.map((held) => [held.id, held.deaths]))
  let hasWarned = false

  function writeSlot(slot: number, text: string): void {
    const line = Buffer.alloc(SLOT_SIZE, ' ')
    line.write(text, 'latin1')
    line[SLOT_SIZE - 1] = NEWLINE
    try {
      writeSync(fd, line, 0, SLOT_SIZE, slot * SLOT_SIZE)
    } catch (error) {
      if (!hasWarned) log.warn({ err: error, file }, 'what is in hand cannot be written down')
      hasWarned = true
    }
  }

  function recordState(state: 'held' | 'waits', { id, workspaceId }: Omit<GuardedMessage, 'deaths'>): void {
    const slot = slots.get(id) ?? free.pop() ?? slots.size
    slots.set(id, slot)
    writeSlot(slot, `${state} ${deaths.get(id) ?? 0} ${workspaceId} ${id}`)
  }

  // Their counts stay in the file until they are over, but a death while they wait is none of theirs.
  for (const suspect of suspects) recordState('waits', suspect)

  return {
    suspects,
    begin: (message) => recordState('held', message),
    finish: (id) => {
      const slot = slots.get(id)
      if (slot === undefined) return
      slots.delete(id)
      deaths.delete(id)
      free.push(slot)
      writeSlot(slot, '')
    },
    close: () => {
      ftruncateSync(fd)
      closeSync(fd)
    },
  }
}

/** What the last process left; the death counts for what it held. */
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
