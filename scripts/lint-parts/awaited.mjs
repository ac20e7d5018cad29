/**
 * Finds promises that are used as if they were there: `node scripts/lint-parts/awaited.mjs`.
 *
 * Reads of the database may be promises, and the compiler accepts a promise in more places than one would wish: a test
 * of `filter`, an operand of `&&` or `!`, a part of a text, a value of type `unknown`. Each would be a wrong answer, such
 * as a filter that keeps everything. Exit status 1 if there are any.
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Methods whose callback must give a plain value. */
const PLAIN_CALLBACKS = new Set(
  'every some filter find findIndex findLast findLastIndex sort toSorted flatMap forEach'.split(' '),
)
/** Functions that take a promise for what it is. */
const TAKES_PROMISES = new Set(
  'all allSettled race any resolve reject rejects resolves teardown test push add set waitUntil then catch'.split(' '),
)

const { fileNames, options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile).config,
  ts.sys,
  root,
)
const program = ts.createProgram(fileNames, {
  ...options,
  noEmit: true,
  incremental: false,
  tsBuildInfoFile: undefined,
})
const checker = program.getTypeChecker()
const faults = []

function isThenable(type) {
  if ((type.flags & ts.TypeFlags.Any) !== 0) return false
  if (type.isUnion()) return type.types.some(isThenable)
  const then = type.getProperty('then')
  return then !== undefined && checker.getTypeOfSymbol(then).getCallSignatures().length > 0
}

const typeOf = (node) => checker.getTypeAtLocation(node)

function note(node, why) {
  const file = node.getSourceFile()
  const { line } = file.getLineAndCharacterOfPosition(node.getStart())
  faults.push(`${relative(root, file.fileName)}:${line + 1} ${why}: ${node.getText().split('\n')[0].slice(0, 80)}`)
}

const isTruthOperator = ({ kind }) =>
  kind === ts.SyntaxKind.AmpersandAmpersandToken || kind === ts.SyntaxKind.BarBarToken

/** What a node uses as a plain value. */
function plainUses(node) {
  if (ts.isPrefixUnaryExpression(node)) return [node.operand]
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken
    if (isTruthOperator(node.operatorToken)) return [node.left]
    const isComparison = kind >= ts.SyntaxKind.LessThanToken && kind <= ts.SyntaxKind.ExclamationEqualsEqualsToken
    const sides = [node.left, node.right]
    // Whether there is a promise, or the same one, may be asked.
    const isOfPromises = sides.every((side) => isThenable(typeOf(side)) || /^(null|undefined)$/.test(side.getText()))
    return isComparison && !isOfPromises ? sides : []
  }
  if (ts.isConditionalExpression(node)) return [node.condition]
  if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node)) return [node.expression]
  if (ts.isTemplateSpan(node)) return [node.expression]
  if (ts.isSpreadAssignment(node) || ts.isSpreadElement(node)) return [node.expression]
  return []
}

function checkCall(call) {
  const callee = call.expression
  const name = ts.isPropertyAccessExpression(callee) ? callee.name.text : callee.getText()
  if (ts.isPropertyAccessExpression(callee) && PLAIN_CALLBACKS.has(name)) {
    const [callback] = call.arguments
    const signature = callback && typeOf(callback).getCallSignatures()[0]
    if (signature && isThenable(signature.getReturnType())) note(call, `the callback of ${name} gives a promise`)
  }
  if (TAKES_PROMISES.has(name)) return
  for (const argument of call.arguments) {
    const wanted = checker.getContextualType(argument)
    const isOpen = wanted === undefined || (wanted.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) !== 0
    if (isOpen && isThenable(typeOf(argument))) note(argument, 'a promise where anything fits')
  }
}

function visit(node) {
  for (const used of plainUses(node)) if (isThenable(typeOf(used))) note(used, 'a promise as a plain value')
  if (ts.isPropertyAssignment(node)) {
    const wanted = checker.getContextualType(node.initializer)
    const isOpen = wanted !== undefined && (wanted.flags & ts.TypeFlags.Unknown) !== 0
    if (isOpen && isThenable(typeOf(node.initializer))) note(node, 'a promise as a field of any type')
  }
  if (ts.isCallExpression(node)) checkCall(node)
  ts.forEachChild(node, visit)
}

const ours = new Set(fileNames)
for (const file of program.getSourceFiles()) if (ours.has(file.fileName)) visit(file)
for (const fault of faults) console.log(fault)
process.exit(faults.length > 0 ? 1 : 0)
