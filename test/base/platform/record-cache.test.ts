/** A cache answers from memory at once, and never keeps what was dropped while it was loaded. */
import t from 'tap'
import { RecordCache } from '../../../src/base/platform/record-cache.js'

class Names extends RecordCache<{ readonly text: string } | undefined> {
  readonly stored = new Map([['ws_1 a', 'first']])
  begun = 0
  wait: Promise<void> = Promise.resolve()

  constructor() {
    super({ max: 10 })
  }

  protected async load(workspaceId: string, name: string): Promise<{ readonly text: string } | undefined> {
    this.begun += 1
    const text = this.stored.get(`${workspaceId} ${name}`)
    await this.wait
    return text === undefined ? undefined : { text }
  }
}

t.test('what is known is there without waiting, and what is missing is asked for again', async (t) => {
  const names = new Names()
  t.same(await Promise.all([names.find('ws_1', 'a'), names.find('ws_1', 'a')]), [{ text: 'first' }, { text: 'first' }])
  const cached = names.find('ws_1', 'a')
  t.notOk(cached instanceof Promise, 'it is there at once')
  t.same(await cached, { text: 'first' })
  t.equal(names.begun, 1)
  for (let times = 0; times < 2; times += 1) t.equal(await names.find('ws_2', 'a'), undefined)
  t.equal(names.begun, 3)
})

for (const drop of [(names: Names) => names.drop(), (names: Names) => names.forget('ws_1', 'a')]) {
  t.test('a change during a load is seen by the next one who asks', async (t) => {
    const names = new Names()
    const gate = Promise.withResolvers<void>()
    names.wait = gate.promise
    const early = names.find('ws_1', 'a')
    names.stored.set('ws_1 a', 'second')
    drop(names)
    gate.resolve()
    t.same(await early, { text: 'first' })
    t.same(await names.find('ws_1', 'a'), { text: 'second' })
  })
}
