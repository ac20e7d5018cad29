// What is done to the daemon under load: it is killed, or its server of PostgreSQL is.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds until each listener must have accepted a message: on a busy machine seconds. */
const MAX_FIRST_WAIT = 30_000
/** Milliseconds without a server, at most: longer and shorter than requests wait for it. */
const MAX_AWAY = 5_000
/** Milliseconds in which answers are lost before a cut, at most. Half of the cuts lose none. */
const MAX_MUTED = 200
/** Milliseconds for which a delivery may be under way. */
const MAX_UNDER_WAY = 5_000

/** `times`: from when until when nothing could be stored, for `countUnderWay`. */
export async function killDaemon({ count, pause, random, ledger, arrivals, start, serving }) {
  const times = []
  for (let kill = 1; kill <= count; kill += 1) {
    ledger.beginLife()
    const daemon = start()
    await serving()
    if (times.length > 0) times.at(-1).to = Date.now()
    if (kill % 4 !== 0) await ledger.allAccepting(MAX_FIRST_WAIT)
    await sleep(random() * pause)
    daemon.kill('SIGKILL')
    times.push({ from: Date.now(), to: Infinity })
    await once(daemon, 'exit')
    if (kill % 10 === 0) report(kill, 'kills', ledger, arrivals)
  }
  ledger.beginLife()
  const daemon = start()
  await serving()
  if (times.length > 0) times.at(-1).to = Date.now()
  return { daemon, times }
}

/** The daemon runs on, and must accept mail again by itself, at each listener. `waits`: milliseconds until then. */
export async function cutServer({ count, pause, random, ledger, arrivals, start, serving, postgres }) {
  const [times, waits] = [[], []]
  ledger.beginLife()
  const daemon = start()
  await serving()
  await ledger.allAccepting(MAX_FIRST_WAIT)
  ledger.expectAnswers()
  for (let cut = 1; cut <= count; cut += 1) {
    await sleep(random() * pause)
    const from = Date.now()
    const muted = random() < 0.5 ? 0 : random() * MAX_MUTED
    await postgres.cut({ pause: random() * MAX_AWAY, muted })
    ledger.beginLife()
    const to = Date.now()
    await ledger.allAccepting(MAX_FIRST_WAIT)
    waits.push(Date.now() - to)
    times.push({ from, to: Date.now() })
    if (cut % 10 === 0) report(cut, 'cuts', ledger, arrivals)
  }
  return { daemon, times, waits }
}

/** How many messages arrived twice, and at how many of them the delivery was under way when nothing could be stored. */
export function countTwice(arrivals, times) {
  const twice = [...arrivals.values()].filter((moments) => moments.length > 1)
  const isUnderWay = ([first, second]) =>
    times.some(({ from, to }) => first > from - MAX_UNDER_WAY && first < to + MAX_UNDER_WAY && second > from)
  return { twice: twice.length, underWay: twice.filter(isUnderWay).length }
}

function report(count, what, ledger, arrivals) {
  console.log(`${count} ${what}, ${ledger.size} accepted, ${arrivals.numbers.size} delivered`)
}
