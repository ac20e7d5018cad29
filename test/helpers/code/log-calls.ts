/** Finds the calls that write log lines: `log.info(…, 'text')`, `lines.warn(…, 'text')`. */
import ts from 'typescript'
import type { Source } from './layering.js'

export interface LogCall {
  readonly path: string
  readonly level: string
  /** The message, or how it begins if it is put together; null: it is decided elsewhere. */
  readonly message: string | null
  /** Names of fields that the call states one by one. */
  readonly fields: readonly string[]
}

const levels = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])
const loggers = /(?:^|\.)(?:log|lines)$/

/** Only what may have a call is parsed. */
const mayLog = /\b(?:log|lines)\s*\??\./

export function findLogCalls({ path, text }: Source): readonly LogCall[] {
  if (!mayLog.test(text)) return []
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const constants = collectConstants(file)
  const found: LogCall[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { name, expression } = node.expression
      if (levels.has(name.text) && loggers.test(expression.getText(file))) {
        const fields = fieldsOf(node.arguments[0])
        for (const message of messagesOf(node.arguments.at(-1), constants)) {
          found.push({ path, level: name.text, message, fields })
        }
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

type Constants = ReadonlyMap<string, ts.Expression>

function collectConstants(file: ts.SourceFile): Constants {
  const constants = new Map<string, ts.Expression>()
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      constants.set(node.name.text, node.initializer)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return constants
}

function messagesOf(argument: ts.Expression | undefined, constants: Constants): readonly (string | null)[] {
  if (argument === undefined) return [null]
  if (ts.isStringLiteralLike(argument)) return [argument.text]
  if (ts.isTemplateExpression(argument)) return [argument.head.text]
  if (ts.isConditionalExpression(argument)) {
    return [...messagesOf(argument.whenTrue, constants), ...messagesOf(argument.whenFalse, constants)]
  }
  const constant = ts.isIdentifier(argument) ? constants.get(argument.text) : undefined
  return constant === undefined ? [null] : messagesOf(constant, new Map())
}

function fieldsOf(argument: ts.Expression | undefined): readonly string[] {
  if (argument === undefined || !ts.isObjectLiteralExpression(argument)) return []
  return argument.properties.flatMap(({ name }) => (name !== undefined && ts.isIdentifier(name) ? [name.text] : []))
}
