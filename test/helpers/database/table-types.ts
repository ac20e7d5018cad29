/**
 * The columns that the table types declare, read from their syntax: `text`, `integer` or `blob`,
 * with `?` where null is allowed. Knows the forms that those files use (their aliases, literals,
 * unions, Generated, `textTypes`, `Hold`) and throws at any other.
 */
import { readFileSync } from 'node:fs'
import ts from 'typescript'

export type Shape = Readonly<Record<string, Readonly<Record<string, string>>>>

export function declaredTables(...paths: readonly string[]): Shape {
  const statements = paths.flatMap((path) => [
    ...ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2023).statements,
  ])
  const interfaces = new Map(statements.filter(ts.isInterfaceDeclaration).map((it) => [it.name.text, it]))
  const aliases = new Map(statements.filter(ts.isTypeAliasDeclaration).map((it) => [it.name.text, it.type]))

  function columns(name: string): Record<string, string> {
    const members = interfaces.get(name)?.members.filter(ts.isPropertySignature) ?? []
    return Object.fromEntries(members.map((member) => [nameOf(member), column(kinds(member.type))]))
  }

  function kinds(type: ts.TypeNode | undefined): string[] {
    if (type === undefined) throw new Error('a column without a type')
    if (ts.isUnionTypeNode(type)) return type.types.flatMap(kinds)
    if (ts.isLiteralTypeNode(type)) return [literals.get(type.literal.kind) ?? 'unknown literal']
    if (!ts.isTypeReferenceNode(type)) return [keywords.get(type.kind) ?? 'unknown type']
    const name = (type.typeName as ts.Identifier).text
    if (name === 'Buffer' || name === 'Uint8Array') return ['blob']
    if (textTypes.has(name)) return ['text']
    if (name === 'Hold') return ['integer']
    return kinds(name === 'Generated' ? type.typeArguments?.[0] : aliases.get(name))
  }

  const tables = interfaces.get('Tables')?.members.filter(ts.isPropertySignature) ?? []
  return Object.fromEntries(
    tables.map((table) => [
      nameOf(table),
      columns(((table.type as ts.TypeReferenceNode).typeName as ts.Identifier).text),
    ]),
  )
}

/** Types of other files whose values are texts. */
const textTypes = new Set([
  'Address',
  'DomainName',
  'Reason',
  'TlsRequired',
  'DkimResult',
  'DmarcResult',
  'Json',
  'Language',
])

const keywords = new Map([
  [ts.SyntaxKind.StringKeyword, 'text'],
  [ts.SyntaxKind.NumberKeyword, 'integer'],
])

const literals = new Map([
  [ts.SyntaxKind.StringLiteral, 'text'],
  [ts.SyntaxKind.NumericLiteral, 'integer'],
  [ts.SyntaxKind.NullKeyword, 'null'],
])

function nameOf(member: ts.PropertySignature): string {
  return (member.name as ts.Identifier).text
}

function column(kinds: readonly string[]): string {
  const own = [...new Set(kinds)].filter((kind) => kind !== 'null').join(' or ')
  return kinds.includes('null') ? `${own}?` : own
}
