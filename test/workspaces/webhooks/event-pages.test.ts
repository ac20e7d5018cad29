/** Pages that webhooks share until they are forgotten. */
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { EventPages } from '../../../src/workspaces/webhooks/event-pages.js'

interface Place {
  readonly pages: EventPages
  /** Each ends one read: with an event of this `seq`, or with an error. */
  readonly answers: ((seq: number | Error) => void)[]
}

function open(): Place {
  const answers: Place['answers'] = []
  const read: Read = () =>
    new Promise((resolve, reject) => {
      answers.push((seq) => (typeof seq === 'number' ? resolve([{ seq } as never]) : reject(seq)))
    })
  return { pages: new EventPages(read), answers }
}

t.test('webhooks at the same place share one read', async (t) => {
  const { pages, answers } = open()
  const both = [pages.after('ws_1', 0, 0), pages.after('ws_1', 0, 0)]
  t.equal(answers.length, 1)
  answers[0]?.(1)
  t.match(await Promise.all(both), [[{ seq: 1 }], [{ seq: 1 }]])
  t.match(await pages.after('ws_1', 0, 0), [{ seq: 1 }])
  void pages.after('ws_2', 0, 0)
  void pages.after('ws_1', 1, 0)
  void pages.after('ws_1', 0, 1)
  t.equal(answers.length, 4)
})

t.test('a page whose read began before it was forgotten is not kept', async (t) => {
  const { pages, answers } = open()
  const before = pages.after('ws_1', 0, 0)
  pages.forget()
  const after = pages.after('ws_1', 0, 0)
  answers[1]?.(2)
  answers[0]?.(1)
  t.match([await before, await after], [[{ seq: 1 }], [{ seq: 2 }]])
  t.match(await pages.after('ws_1', 0, 0), [{ seq: 2 }])
})

t.test('a page that could not be read is read again', async (t) => {
  const { pages, answers } = open()
  const failed = pages.after('ws_1', 0, 0)
  answers[0]?.(new Error('the disk fails'))
  await t.rejects(failed, { message: 'the disk fails' })
  const again = pages.after('ws_1', 0, 0)
  answers[1]?.(1)
  t.match(await again, [{ seq: 1 }])
})
