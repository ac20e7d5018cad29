/**
 * Every regular expression of the program, found by the compiler: literals, and arguments of `RegExp` that consist of
 * constants of the same file.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export interface Expression {
  /** As `src/base/mail/address.ts`. */
  readonly file: string
  readonly line: number
  /** As a literal; null: built at run time, by `code`. */
  readonly literal: string | null
  readonly code: string
}

export function expressionsBelow(folder: string): readonly Expression[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name))
    .sort()
    .flatMap((file) => expressionsOf(file, readFileSync(file, 'utf8')))
}

export function expressionsOf(file: string, text: string): readonly Expression[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true)
  const constants = constantsOf(source)
  const found: Expression[] = []
  const visit = (node: ts.Node): void => {
    const literal = literalOf(node, constants)
    if (literal !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      found.push({ file, line: line + 1, literal, code: node.getText() })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Undefined: no expression; null: one that cannot be known. */
function literalOf(node: ts.Node, constants: ReadonlyMap<string, ts.Expression>): string | null | undefined {
  if (ts.isRegularExpressionLiteral(node)) return node.text
  if (!(ts.isNewExpression(node) || ts.isCallExpression(node)) || node.expression.getText() !== 'RegExp')
    return undefined
  const [pattern, flags] = (node.arguments ?? []).map((argument) => textOf(argument, constants))
  if (pattern === undefined || pattern === null || flags === null) return null
  return new RegExp(pattern, flags).toString()
}

function constantsOf(source: ts.SourceFile): ReadonlyMap<string, ts.Expression> {
  const constants = new Map<string, ts.Expression>()
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer !== undefined && ts.isIdentifier(node.name)) {
      if ((node.parent.flags & ts.NodeFlags.Const) !== 0) constants.set(node.name.text, node.initializer)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return constants
}

/** Null: not made of constants alone. */
function textOf(node: ts.Node, constants: ReadonlyMap<string, ts.Expression>): string | null {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isNumericLiteral(node)) return String(Number(node.text.replaceAll('_', '')))
  if (ts.isIdentifier(node)) {
    const value = constants.get(node.text)
    return value === undefined ? null : textOf(value, constants)
  }
  if (ts.isTaggedTemplateExpression(node)) {
    return node.tag.getText() === 'String.raw' ? templateText(node.template, constants, 'rawText') : null
  }
  return ts.isTemplateExpression(node) ? templateText(node, constants, 'text') : null
}

function templateText(
  node: ts.TemplateLiteral,
  constants: ReadonlyMap<string, ts.Expression>,
  form: 'text' | 'rawText',
): string | null {
  if (ts.isNoSubstitutionTemplateLiteral(node)) return node[form] ?? null
  let text = node.head[form] ?? ''
  for (const { expression, literal } of node.templateSpans) {
    const value = textOf(expression, constants)
    if (value === null) return null
    text += `${value}${literal[form] ?? ''}`
  }
  return text
}
