/** Loads of one key at once are one, and what was forgotten while it loaded is not kept. */
import t from 'tap'
import { SharedLoads } from '../../../src/base/platform/shared-loads.js'

function openLoads() {
  const loads = new SharedLoads<string>()
  const begun: PromiseWithResolvers<string>[] = []
  const kept: string[] = []
  const ask = (key: string): Promise<string> =>
    loads.join(
      key,
      () => {
        const load = Promise.withResolvers<string>()
        begun.push(load)
        return load.promise
      },
      (value) => kept.push(value),
    )
  return { loads, begun, kept, ask }
}

t.test('all who ask at once share a load, and the next one begins another', async (t) => {
  const { begun, kept, ask } = openLoads()
  const asked = [ask('a'), ask('a'), ask('b')]
  t.equal(begun.length, 2)
  begun[0]?.resolve('one')
  begun[1]?.resolve('two')
  t.same(await Promise.all(asked), ['one', 'one', 'two'])
  t.same(kept, ['one', 'two'])
  void ask('a')
  t.equal(begun.length, 3)
})

for (const forget of ['forget', 'forgetAll'] as const) {
  t.test(`${forget}: an older load is neither joined nor kept`, async (t) => {
    const { loads, begun, kept, ask } = openLoads()
    const older = ask('a')
    loads[forget]('a')
    const newer = ask('a')
    begun[1]?.resolve('new')
    t.equal(await newer, 'new')
    begun[0]?.resolve('old')
    t.equal(await older, 'old', 'for the one who asked before')
    t.same(kept, ['new'])
  })

  t.test(`${forget}: an older load that ends first does not end the newer one`, async (t) => {
    const { loads, begun, kept, ask } = openLoads()
    const older = ask('a')
    loads[forget]('a')
    const newer = ask('a')
    begun[0]?.resolve('old')
    await older
    t.ok(ask('a') === newer)
    begun[1]?.resolve('new')
    await newer
    t.same(kept, ['new'])
  })
}

t.test('a load that fails is tried again by the next one who asks', async (t) => {
  const { begun, kept, ask } = openLoads()
  const first = ask('a')
  begun[0]?.reject(new Error('the disk is gone'))
  await t.rejects(first, /the disk is gone/)
  const second = ask('a')
  begun[1]?.resolve('there')
  t.equal(await second, 'there')
  t.same(kept, ['there'])
})
