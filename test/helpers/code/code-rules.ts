/**
 * Rules about single files that the linter cannot express: sizes, the head comment, private members, and what only
 * platform/, storage/ or the command line may use.
 *
 * Known limit: it reads names, not meanings; a forbidden function behind another name passes.
 */
import ts from 'typescript'
import { firstSentenceOf } from './index-of-files.js'
import { roomOf, type Source } from './layering.js'
import { parseSource } from './parse-source.js'

const MAX_FILE_LINES = 300
const MAX_FUNCTION_LINES = 40
/** A sentence that begins so has no subject of its own: it makes a bad line of docs/index-of-files.md. */
const FRAGMENT =
  /^(?:And|As|At|But|By|For|From|How|In|Of|On|Or|So|Than|That|What|When|Where|Whether|Which|Who|Whom|Whose|Why|With)\b/

export function ruleOffences(source: Source): readonly string[] {
  const file = parseSource(source)
  const found = [...textOffences(source)]
  const visit = (node: ts.Node): void => {
    const fault = faultOf(node, roomOf(source.path)) ?? libraryFault(node, source.path)
    if (fault !== null) found.push(`${source.path}:${lineOf(file, node.getStart())}: ${fault}`)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function textOffences({ path, text }: Source): readonly string[] {
  const lines = text.trimEnd().split('\n')
  const found: string[] = []
  if (lines.length > MAX_FILE_LINES) found.push(`${path}: ${lines.length} lines, more than ${MAX_FILE_LINES}`)
  if (!/^(#!.*\n)?\/\*\*/.test(text)) found.push(`${path}: does not open with what it is`)
  const [word] = FRAGMENT.exec(firstSentenceOf(text)) ?? []
  // A migration that was released is not changed, nor is its comment.
  if (word !== undefined && !path.startsWith('src/base/storage/migrations/'))
    found.push(`${path}: its first sentence begins with "${word}"`)
  lines.forEach((line, at) => {
    if (/\b(TODO|FIXME|XXX)\b/.test(line)) found.push(`${path}:${at + 1}: work put off in a comment`)
  })
  return found
}

function faultOf(node: ts.Node, room: string): string | null {
  return sizeFault(node) ?? privateFault(node) ?? typeFault(node) ?? worldFault(node, room) ?? sqlFault(node, room)
}

function lineOf(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1
}

function sizeFault(node: ts.Node): string | null {
  if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return null
  const lines = linesOf(node) - innerLines(node)
  const name = node.name?.getText() ?? 'a function'
  return lines > MAX_FUNCTION_LINES ? `${name} has ${lines} lines, more than ${MAX_FUNCTION_LINES}` : null
}

function linesOf(node: ts.Node): number {
  const file = node.getSourceFile()
  return lineOf(file, node.getEnd()) - lineOf(file, node.getStart()) + 1
}

/**
 * Function declarations inside count for themselves, as the methods of a class do; callbacks count as lines. The members
 * of a list (an object, an array, names that are taken from an object) do not count unless they contain functions: a flat
 * list may be long.
 */
function innerLines(node: ts.Node): number {
  let lines = 0
  ts.forEachChild(node, (child) => {
    const isFlatMember = isList(node) && !ts.isFunctionLike(child) && !holdsFunction(child)
    if (ts.isFunctionDeclaration(child)) lines += linesOf(child)
    else lines += isFlatMember && startsLine(child) ? linesOf(child) : innerLines(child)
  })
  return lines
}

function isList(node: ts.Node): boolean {
  return ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node) || ts.isObjectBindingPattern(node)
}

function startsLine(node: ts.Node): boolean {
  const { text } = node.getSourceFile()
  return text.slice(text.lastIndexOf('\n', node.getStart()), node.getStart()).trim() === ''
}

function holdsFunction(node: ts.Node): boolean {
  return ts.forEachChild(node, (child) => ts.isFunctionLike(child) || holdsFunction(child) || undefined) ?? false
}

function privateFault(node: ts.Node): string | null {
  if (!ts.isPrivateIdentifier(node) || (node.parent as { name?: ts.Node }).name !== node) return null
  return ts.isPropertyAccessExpression(node.parent) ? null : `${node.text}: members are private by the keyword`
}

function typeFault(node: ts.Node): string | null {
  if (!ts.isFunctionDeclaration(node) || node.type !== undefined) return null
  const exported = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false
  return exported ? `${node.name?.text} is exported and does not say what it returns` : null
}

const dialingWords = new Set(['connect', 'createConnection', 'Socket'])
const environmentReaders = new Set(['base/config', 'operations/cli', 'operations/sendmail', 'main.ts'])

/**
 * Time, randomness, name resolution and connections come in through platform/; the environment through the command
 * line. The dashboard has those of the browser.
 */
function worldFault(node: ts.Node, room: string): string | null {
  if (room === 'ui') return clockFault(node)
  if (ts.isPropertyAccessExpression(node)) {
    const name = `${node.expression.getText()}.${node.name.text}`
    if (name === 'process.env')
      return environmentReaders.has(room) ? null : 'process.env belongs to cli/, sendmail/ and config/'
    if (room === 'base/platform') return null
    if (name === 'Date.now' || name === 'Math.random') return `${name} belongs to platform/`
    return /^(net|tls)\./.test(name) && dialingWords.has(node.name.text) ? `${name} belongs to platform/` : null
  }
  if (room === 'base/platform') return null
  if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments?.length ?? 0) === 0) {
    return 'new Date() belongs to platform/'
  }
  return ts.isImportDeclaration(node) ? importFault(node) : null
}

/** A library is known to these files or folders alone, so that it can be replaced, and is used in one way. */
const libraryHomes: Readonly<Record<string, readonly string[]>> = {
  '@koa/router': ['servers/api/http/'],
  'better-sqlite3': ['base/storage/'],
  'html-to-text': ['records/messages/mime/text-of-html.ts'],
  'iconv-lite': ['base/mail/charset.ts'],
  'ipaddr.js': ['base/platform/'],
  'jsonc-parser': ['servers/api/http/input/json-body.ts'],
  koa: ['servers/api/http/'],
  'libphonenumber-js': ['base/platform/phone-number.ts'],
  'lru-cache': ['base/platform/lru-cache.ts'],
  mailauth: ['inbound/receiving/authentication/', 'operations/sandbox/dkim-verdict.ts'],
  mailparser: ['operations/sandbox/sink.ts'],
  'node-cron': ['base/platform/cron-task.ts'],
  // Its parts serve apart: composing, the table of media types, lists of addresses, and a client.
  nodemailer: [
    'operations/sendmail/hand-over.ts',
    'outbound/sending/',
    'operations/cli/commands/email-commands.ts',
    'workspaces/content/file-type.ts',
    'base/mail/mailbox-list.ts',
    'operations/sandbox/sample.ts',
  ],
  'smtp-server': ['servers/smtp/server/', 'operations/sandbox/sink.ts'],
  tldts: ['base/mail/public-suffix.ts'],
  undici: ['base/platform/http/http-client.ts'],
}

function libraryFault(node: ts.Node, path: string): string | null {
  if (!ts.isImportDeclaration(node) || !ts.isStringLiteral(node.moduleSpecifier)) return null
  const { text } = node.moduleSpecifier
  const library = Object.keys(libraryHomes).find((name) => text === name || text.startsWith(`${name}/`)) ?? ''
  const homes = libraryHomes[library]
  if (homes === undefined || homes.some((home) => path.startsWith(`src/${home}`))) return null
  return `${library} belongs to ${homes.join(', ')}`
}

/** The dashboard has one file that reads the clock. */
function clockFault(node: ts.Node): string | null {
  if (node.getSourceFile().fileName.endsWith('src/ui/components/clock.ts')) return null
  const isNow = ts.isPropertyAccessExpression(node) && node.getText() === 'Date.now'
  const isNewDate = ts.isNewExpression(node) && node.getText() === 'new Date()'
  return isNow || isNewDate ? `${node.getText()} belongs to ui/components/clock.ts` : null
}

function importFault(node: ts.ImportDeclaration): string | null {
  const from = ts.isStringLiteral(node.moduleSpecifier) ? node.moduleSpecifier.text.replace(/^node:/, '') : ''
  if (node.importClause?.isTypeOnly) return null
  if (from === 'dns' || from === 'dns/promises') return 'node:dns belongs to platform/'
  const names = node.importClause?.namedBindings
  if ((from !== 'net' && from !== 'tls') || names === undefined || !ts.isNamedImports(names)) return null
  const dialing = names.elements.find(
    (element) => !element.isTypeOnly && dialingWords.has((element.propertyName ?? element.name).text),
  )
  return dialing === undefined ? null : `${dialing.getText()} of node:${from} belongs to platform/`
}

/** Another database must stay possible. */
function sqlFault(node: ts.Node, room: string): string | null {
  if (room === 'base/storage') return null
  const text = ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) ? node.text : ''
  const word = /\b(pragma|rowid|insert or|strftime|json_each)\b/i.exec(text)?.[0]
  return word === undefined ? null : `"${word}" is SQLite's own and belongs to storage/`
}
