/** Which message gets which process next; the processes are names. */
import t from 'tap'
import { MimeTurns } from '../../../../src/records/messages/mime/mime-turns.js'

interface Started {
  readonly process: string
  readonly job: string
  readonly end: (isDone?: boolean) => Promise<void>
}

function turnsOf(processes: readonly string[], maxWaiting = 100) {
  const turns = new MimeTurns(processes, { maxWaiting, maxWaitingPerWorkspace: maxWaiting })
  const started: Started[] = []
  const rejected: unknown[] = []
  const add = (job: string, isSmall = true): void => {
    const run = (process: string): Promise<boolean> =>
      new Promise((resolve) => {
        const end = async (isDone = true): Promise<void> => {
          resolve(isDone)
          for (let count = 0; count < 5; count += 1) await null
        }
        started.push({ process, job, end })
      })
    turns.add(job[0] ?? '', { run, reject: (error) => rejected.push(error), isSmall })
  }
  const underWay = (): readonly string[] => started.map(({ process, job }) => `${process}:${job}`)
  return { turns, add, started, rejected, underWay }
}

t.test('one process has four small messages of a workspace at a time, and never more', async (t) => {
  const { add, started, underWay } = turnsOf(['p', 'q'])
  for (const number of [1, 2, 3, 4, 5, 6]) add(`a${number}`)
  t.same(underWay(), ['p:a1', 'p:a2', 'p:a3', 'p:a4'])
  await started[0]?.end()
  t.same(underWay().slice(4), ['p:a5'])
})

t.test('other messages have a process for themselves, and wait for the small ones before them', async (t) => {
  const { add, started, underWay } = turnsOf(['p', 'q'])
  add('a1')
  add('a2', false)
  add('a3')
  t.same(underWay(), ['p:a1'])
  await started[0]?.end()
  t.same(underWay(), ['p:a1', 'p:a2'])
  await started[1]?.end()
  t.same(underWay(), ['p:a1', 'p:a2', 'p:a3'])
})

t.test('while another workspace waits, no process gets more of one', async (t) => {
  const { add, started, underWay } = turnsOf(['p', 'q'])
  add('a1')
  add('b1')
  t.same(underWay(), ['p:a1', 'q:b1'])
  add('c1')
  for (const job of ['a2', 'b2', 'a3']) add(job)
  t.equal(started.length, 2)
  await started[0]?.end()
  t.same(underWay().slice(2), ['p:c1'], 'who waits for a process has the next one')
  await started[1]?.end()
  t.same(underWay().slice(3), ['q:a2'], 'and then the turns go round')
})

t.test('messages whose process ended are run alone, in their order, before those behind them', async (t) => {
  const { add, started, underWay } = turnsOf(['p', 'q'])
  for (const job of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) add(job)
  await Promise.all([3, 2, 1, 0].map((place) => started[place]?.end(false)))
  for (const [place, job] of ['a1', 'a2', 'a3', 'a4'].entries()) {
    t.same(underWay().slice(4), [...underWay().slice(4, 4 + place), `p:${job}`])
    await started[4 + place]?.end()
  }
  t.same(underWay().slice(8), ['p:a5', 'p:a6'])
})

t.test('a turn of which one message came back gets no more', async (t) => {
  const { add, started, underWay } = turnsOf(['p'])
  for (const job of ['a1', 'a2', 'a3', 'a4', 'a5']) add(job)
  await started[3]?.end(false)
  t.equal(started.length, 4)
  for (const place of [0, 1, 2]) await started[place]?.end()
  t.same(underWay().slice(4), ['p:a4'])
})

t.test('after the end nothing waits and nothing comes back', async (t) => {
  const { turns, add, started, rejected } = turnsOf(['p'])
  for (const job of ['a1', 'a2', 'a3', 'a4', 'a5']) add(job)
  turns.close()
  t.match(rejected, [{ kind: 'unavailable' }])
  await started[1]?.end(false)
  t.equal(rejected.length, 2)
  t.throws(() => add('a6'), { name: 'Refusal', message: /too many messages/ })
})
