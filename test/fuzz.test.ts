/**
 * What scripts/fuzz has found stays repaired: every target runs on its seeds and its kept findings. The engine finds
 * faults that were planted in a parser.
 */
// Of SQLite alone: nearly all of it has no database.
import t from 'tap'
import { DocumentedError, parsePlanted } from './fixtures/planted-parser.js'
import { listCaseFolders, readCases } from './helpers/fuzz/cases.js'
import { Fuzzer } from './helpers/fuzz/fuzzer.js'
import { minimize } from './helpers/fuzz/minimize.js'
import { createRandomSource, mutate } from './helpers/fuzz/mutate.js'
import { check, type FuzzTarget, findFault } from './helpers/fuzz/target.js'
import { loadTargets } from './helpers/fuzz/targets/all-targets.js'

const planted: FuzzTarget = {
  name: 'planted',
  checks: 'none',
  seeds: ['{a b'],
  maxSize: 16_384,
  run: parsePlanted,
  refuses: (error) => error instanceof DocumentedError,
}

/** The first finding of this kind; null: none within the time, which is ample. */
async function fuzz(target: FuzzTarget, kind: string): Promise<string | null> {
  let found: string | null = null
  await new Fuzzer(target, {
    seconds: 100,
    seed: 1,
    onInput: () => undefined,
    onFinding: (finding) => {
      if (finding.kind === kind) found ??= finding.input.toString('latin1')
    },
    isDone: () => found !== null,
  }).run()
  return found
}

t.test('coverage leads to a fault behind five comparisons, and the fault is minimized', async (t) => {
  t.equal(await fuzz({ ...planted, maxSize: 64 }, 'fault'), '{fuzz')
})

t.test('time that grows with the square of the size is found', async (t) => {
  const found = await fuzz({ ...planted, seeds: ['{q  '] }, 'growth')
  t.match(found, / {5000}/)
})

t.test('a property that does not hold is a fault, and a refusal is none', async (t) => {
  const run = (input: Buffer): void => check(input.length < 3, 'short')
  t.match(await findFault({ ...planted, run }, Buffer.from('abcd')), { name: 'BrokenProperty', message: 'short' })
  t.equal(await findFault(planted, Buffer.from('x')), null)
  t.match(await findFault(planted, Buffer.from('{fuzz')), { message: 'planted fault' })
})

t.test('a minimized input still shows the fault and is as plain as it can be', async (t) => {
  const smallest = await minimize(Buffer.from('....X,,,,,,Y....'), async (one) => /X.*Y/.test(one.toString()))
  t.equal(smallest.toString(), 'XY')
})

t.test('the same seed makes the same inputs, within the limit of the size', async (t) => {
  const inputsOf = (seed: number): readonly string[] => {
    const random = createRandomSource(seed)
    const mutation = { random, words: [Buffer.from('word')], other: Buffer.from('other input'), maxSize: 50 }
    return Array.from({ length: 500 }, () =>
      mutate(Buffer.from('one 12 input\r\nof lines\r\n'), mutation).toString('hex'),
    )
  }
  t.same(inputsOf(1), inputsOf(1))
  t.not(inputsOf(1).join(), inputsOf(2).join())
  t.ok(inputsOf(3).every((hex) => hex.length <= 100))
})

// Last: the tests above read the coverage of this process, which takes longer the more code is loaded.
t.test('every seed and every finding is parsed, or refused as documented', async (t) => {
  for (const { target } of await loadTargets()) {
    await target.open?.()
    const seeds = target.seeds.map((seed, at) => ({ file: `seed ${at}`, input: Buffer.from(seed) }))
    for (const { file, input } of [...seeds, ...readCases(target.name)]) {
      t.equal(await findFault(target, input), null, `${target.name}: ${file}`)
    }
    await target.close?.()
  }
})

t.test('each folder of findings has a target, and each target a name of its own', async (t) => {
  const names = (await loadTargets()).map(({ target }) => target.name)
  t.same([...new Set(names)], names)
  t.same(
    listCaseFolders().filter((name) => !names.includes(name)),
    [],
  )
})
