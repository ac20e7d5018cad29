/**
 * The words of the code base: names and comments of src/ use the terms of the field, and those of docs/glossary.md.
 *
 * Known limit: it knows the words that were replaced, not every word that misleads.
 */
import ts from 'typescript'
import type { Source } from './layering.js'
import { parseSource } from './parse-source.js'

/** Replaced by listener, responder, cache, remote client, workspace id, random source, request, yield and others. */
const BANNED_NAME_PARTS = new Set(
  'door desk book shelf ring stranger visitor party dice told wish wished wanted breath glance heir lure pretence odds outlook mend'.split(
    ' ',
  ),
)
const BANNED_LIMIT_NAME = /^(?:most|longest)(?=[A-Z])|^(?:MOST|LONGEST)_/
/** A function is named by a verb. */
const BANNED_FUNCTION_NAMES = new Set(
  'told found listed shown asked folded quoted written judged late behind elsewhere some nothing none within past standing bare'.split(
    ' ',
  ),
)
const BANNED_IN_COMMENTS =
  /\b(?:nobody|somebody|whoever|everybody|strangers?|visitors?|doors?|desks?|shelf|shelves|dice|breath)\b/gi

export function vocabularyOffences(source: Source): readonly string[] {
  const { path, text } = source
  const file = parseSource(source)
  const found = new Set<string>()
  const at = (position: number): string => `${path}:${file.getLineAndCharacterOfPosition(position).line + 1}`
  for (const word of splitName(path.slice(path.lastIndexOf('/') + 1).replace(/\..*$/, ''))) {
    if (BANNED_NAME_PARTS.has(word)) found.add(`${path}: a file named "${word}"`)
  }
  const walk = (node: ts.Node): void => {
    const fault = nameFault(node)
    if (fault !== null) found.add(`${at(node.getStart())}: ${fault}`)
    for (const { pos, end } of commentsAround(node, text)) {
      for (const { 0: word, index } of text.slice(pos, end).matchAll(BANNED_IN_COMMENTS)) {
        found.add(`${at(pos + index)}: "${word}" in a comment`)
      }
    }
    ts.forEachChild(node, walk)
  }
  walk(file)
  return [...found]
}

function nameFault(node: ts.Node): string | null {
  if (!ts.isIdentifier(node) || (node.parent as { name?: ts.Node }).name !== node) return null
  const name = node.text
  const word = splitName(name).find((part) => BANNED_NAME_PARTS.has(part))
  if (word !== undefined) return `"${word}" in the name ${name}`
  if (BANNED_LIMIT_NAME.test(name)) return `${name}: a limit is MAX_… or max…`
  return BANNED_FUNCTION_NAMES.has(name) && namesFunction(node.parent) ? `the function ${name}: not a verb` : null
}

/** The words of a name in camel case, capitals or with hyphens, in small letters. */
function splitName(name: string): readonly string[] {
  return name.split(/[-_]|(?<=[a-z\d])(?=[A-Z])/).map((part) => part.toLowerCase())
}

function namesFunction(node: ts.Node): boolean {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) return true
  if (ts.isPropertySignature(node)) return node.type !== undefined && ts.isFunctionTypeNode(node.type)
  if (!ts.isVariableDeclaration(node) && !ts.isPropertyDeclaration(node) && !ts.isPropertyAssignment(node)) return false
  const value = node.initializer
  return value !== undefined && (ts.isArrowFunction(value) || ts.isFunctionExpression(value))
}

function commentsAround(node: ts.Node, text: string): readonly ts.CommentRange[] {
  return [
    ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
    ...(ts.getTrailingCommentRanges(text, node.getEnd()) ?? []),
  ]
}
