/** Words of a text are replaced once, in one pass. */
import t from 'tap'
import { replaceInBody, replaceWords } from '../../../../src/servers/api/compatible/replace-words.js'

t.test('words are replaced, and values are not read again', async (t) => {
  t.equal(await replaceWords('-a- and -b-, -a-', { '-a-': '-b-', '-b-': 'x' }), '-b- and x, -b-')
  t.equal(
    await replaceWords('abcd', { ab: '1', abc: '2', bcd: '3' }),
    '2d',
    'the longest of those that begin at one place',
  )
  t.equal(await replaceWords('text', {}), 'text')
  t.equal(await replaceWords('text', { '': 'x', none: 'y' }), 'text')
  t.equal(await replaceWords('aaaa', { aa: 'b' }), 'bb')
})

t.test('a word is found at the end of a step, and across it', async (t) => {
  for (const before of [65_533, 65_535, 65_536, 65_537, 131_070]) {
    const text = `${'a'.repeat(before)}bcd${'a'.repeat(70_000)}bcd`
    t.equal(await replaceWords(text, { bcd: '-', cd: '+' }), text.replaceAll('bcd', '-'))
  }
})

t.test('a long body stays bytes, and characters of several bytes stay whole', async (t) => {
  const text = `${'a'.repeat(1_048_575)}😀${'€'.repeat(400_000)}name`
  const replaced = await replaceInBody(Buffer.from(text), { name: '😀' })
  t.ok(Buffer.isBuffer(replaced))
  t.ok(replaced?.toString() === text.replace('name', '😀'))
  t.equal(await replaceInBody('my name', { name: 'x' }), 'my x')
})

t.test('too many words in too long a text are refused, and so are words that are too long', async (t) => {
  const words = Object.fromEntries(Array.from({ length: 100 }, (_, place) => [`w${place}`, '']))
  const refused = { kind: 'invalid-parameter' }
  await t.rejects(replaceWords('x'.repeat(300_000), words), { ...refused, message: /^substitutions: 100 words/ })
  await t.rejects(replaceWords('ab'.repeat(5_001), { a: '' }), { ...refused, message: /more than 5000 places/ })
  await t.rejects(replaceWords('text', { ['a'.repeat(257)]: '' }), { ...refused, message: /257 .*allowed: 256/ })
  await t.rejects(replaceWords('a'.repeat(5_000), { a: 'x'.repeat(10_000) }), {
    kind: 'too-large',
    message: /15728640/,
  })
})

t.test('the worst words of a long text leave turns to others', async (t) => {
  let turns = 0
  let timer = setImmediate(function count() {
    turns += 1
    timer = setImmediate(count)
  })
  const words = Object.fromEntries(Array.from({ length: 20 }, (_, place) => [`aaaaa${place}`, '']))
  t.equal((await replaceWords('a'.repeat(250_000), words)).length, 250_000)
  clearImmediate(timer)
  t.ok(turns >= 3, `${turns} turns`)
})
