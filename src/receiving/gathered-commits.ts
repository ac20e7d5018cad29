/**
 * Lets messages that are accepted one after the other share a commit, which costs nearly as much for one as for ten: it
 * rewrites the last page of each index and waits for the disk.
 *
 * A commit waits for the next ones only while the threads for inbound mail have messages in hand: then these are what all
 * messages wait for, and the time that a commit does not take is theirs. A message that comes alone never waits.
 */
import type { Commit } from '../storage/writer/write.js'

/** Milliseconds. */
const MAX_WAIT = 4
/** Commits that wait together. */
const MAX_HELD = 32

/** `isBusy`: the threads have messages in hand for longer than a commit takes. */
export function gatherCommits(commit: Commit, isBusy: () => boolean): Commit {
  let held: (() => void)[] = []
  let timer: NodeJS.Timeout | null = null
  const release = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const released = held
    held = []
    for (const begin of released) begin()
  }
  return (writes) => {
    if (held.length === MAX_HELD || !isBusy()) {
      release()
      return commit(writes)
    }
    return new Promise((resolve, reject) => {
      held.push(() => commit(writes).then(resolve, reject))
      timer ??= setTimeout(release, MAX_WAIT)
    })
  }
}
