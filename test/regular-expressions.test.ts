/**
 * No regular expression of src/ takes more than linear time, unless its input has a bound that
 * `fixtures/bounded-expressions.ts` names. Exponential ones are not allowed.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type BoundedExpression, boundedExpressions } from './fixtures/bounded-expressions.js'
import { type Expression, expressionsBelow, expressionsOf } from './helpers/code/expressions.js'
import { createGrowthJudge, type Growth, readRecord, recheckVersion } from './helpers/code/judge-expression.js'

const judge = await createGrowthJudge()
const found = expressionsBelow('src')
const record = readRecord()

/** Null: not known before it runs. */
const growths = new Map<Expression, Growth | null>(
  found.map((expression) => {
    const { literal } = expression
    return [expression, literal === null ? null : (record.growth[literal] ?? judge(literal))]
  }),
)

function covers({ file, expression }: BoundedExpression, one: Expression): boolean {
  return file === one.file && (expression === undefined || one.code.includes(expression))
}

t.test('the judge distinguishes growths', async (t) => {
  t.equal(judge('/^[a-z]+(?:-[a-z]+)*$/'), 'linear')
  t.equal(judge('/"(?:[^"\\\\]|\\\\.)*"/g'), 'polynomial')
  t.equal(judge('/\\s+$/'), 'polynomial')
  t.equal(judge('/^(?:a+)+$/'), 'exponential')
})

t.test('expressions are found wherever they are made', async (t) => {
  const text = [
    'const WORD = String.raw`\\w`, most = 1_00',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code that contains one
    'const pattern = new RegExp(`^${WORD}{1,${most}}$`, "i")',
    'export const test = (text: string) => /a/.test(text) || RegExp("b/").test(text) || new RegExp(text).test(text)',
  ].join('\n')
  t.same(
    expressionsOf('src/a.ts', text).map(({ line, literal }) => [line, literal]),
    [
      [2, '/^\\w{1,100}$/i'],
      [3, '/a/'],
      [3, '/b\\//'],
      [3, null],
    ],
  )
  t.ok(found.length > 600)
})

t.test('every expression is linear, or has a bounded input', async (t) => {
  for (const [expression, growth] of growths) {
    if (growth === 'linear') continue
    const { file, line, code } = expression
    const bounded = growth !== 'exponential' && boundedExpressions.some((entry) => covers(entry, expression))
    t.ok(bounded, `${file}:${line}: ${growth ?? 'not to be known'}, and no bound is named: ${code}`)
  }
})

t.test('every bound is needed, and is enforced where the list says', async (t) => {
  for (const entry of boundedExpressions) {
    const { file, expression, enforcedIn, by } = entry
    const needed = [...growths].some(([one, growth]) => covers(entry, one) && growth !== 'linear')
    t.ok(needed, `${file}: ${expression ?? 'some expression'} needs its bound`)
    t.ok(readFileSync(enforcedIn, 'utf8').includes(by), `${enforcedIn} has ${by}`)
  }
})

t.test('the record is of this version of recheck and of this program (else: scripts/judge-expressions)', async (t) => {
  t.equal(record.version, recheckVersion())
  const literals = new Set(found.map(({ literal }) => literal))
  t.same(
    Object.keys(record.growth).filter((literal) => !literals.has(literal)),
    [],
  )
})
