/**
 * Gives the dashboard the pages of docs/ that its users read, as trees of elements in JSON. The module
 * `virtual:help-pages` names the file of each page.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'
import { parse } from '@textlint/markdown-to-ast'

const MODULE = 'virtual:help-pages'
const FOLDER = 'docs'
const START = 'README'

/** Pages for people who change the code. */
const ofDevelopers = new Set(
  'architecture dashboard-code fuzzing glossary index-of-files interface processes routes soak storage tests'.split(
    ' ',
  ),
)
const foldersOfUsers = ['.', 'tutorials', 'coming-from']
/** The last part of the first page links only the pages of developers. */
const DEVELOPER_PART = 'I want to change the code'

export function helpPages() {
  return {
    name: 'help-pages',
    resolveId: (id) => (id === MODULE ? `\0${MODULE}` : null),
    load(id) {
      if (id !== `\0${MODULE}`) return null
      const names = listNames()
      const entries = names.map((name) => {
        const file = join(FOLDER, `${name}.md`)
        this.addWatchFile(file)
        const source = JSON.stringify(readHelpPage(readFileSync(file, 'utf8'), name, new Set(names)))
        const reference = this.emitFile({ type: 'asset', name: `help-${name.replace('/', '-')}.json`, source })
        return `${JSON.stringify(name)}: import.meta.ROLLUP_FILE_URL_${reference}`
      })
      return `export const urls = { ${entries.join(', ')} }`
    },
  }
}

function listNames() {
  return foldersOfUsers.flatMap((folder) =>
    readdirSync(join(FOLDER, folder))
      .filter((file) => file.endsWith('.md'))
      .map((file) => join(folder, file.slice(0, -3)))
      .filter((name) => !ofDevelopers.has(name)),
  )
}

/** The title and the tree of a page. A node is a text, or `[element, attributes, nodes]`. */
export function readHelpPage(markdown, name, names) {
  const { children } = parse(markdown)
  const end = name === START ? children.findIndex((node) => textOf(node) === DEVELOPER_PART) : -1
  const [heading, ...rest] = end < 0 ? children : children.slice(0, end)
  return { title: textOf(heading), body: rest.flatMap((node) => toNodes(node, { name, names })) }
}

const plain = {
  Paragraph: 'p',
  Strong: 'strong',
  Emphasis: 'em',
  BlockQuote: 'blockquote',
  ListItem: 'li',
}

function toNodes(node, page) {
  const inner = () => (node.children ?? []).flatMap((child) => toNodes(child, page))
  switch (node.type) {
    case 'Str':
      return [node.value]
    case 'Code':
      return [['code', {}, [node.value]]]
    case 'CodeBlock':
      return [['pre', {}, [node.value]]]
    case 'Header':
      return [[`h${node.depth}`, { id: slugOf(textOf(node)) }, inner()]]
    case 'List':
      return [[node.ordered ? 'ol' : 'ul', {}, inner()]]
    case 'Link':
      return toLink(node, inner(), page)
    case 'Table':
      return [toTable(node, page)]
    case 'Break':
      return [['br', {}, []]]
    default:
      // Pictures and comments have no place in the pages.
      return plain[node.type] === undefined ? [] : [[plain[node.type], {}, inner()]]
  }
}

function toTable({ children: [head, ...rows] }, page) {
  const toRow = (tag) => (row) => [
    'tr',
    {},
    row.children.map((cell) => [tag, {}, cell.children.flatMap((child) => toNodes(child, page))]),
  ]
  return [
    'table',
    {},
    [
      ['thead', {}, [toRow('th')(head)]],
      ['tbody', {}, rows.map(toRow('td'))],
    ],
  ]
}

/** A link to a page that the dashboard does not have stays as text. */
function toLink({ url }, inner, { name, names }) {
  if (/^https?:/.test(url)) return [['a', { href: url }, inner]]
  const [path, anchor] = url.split('#')
  const target = path === '' ? name : normalize(join(dirname(name), path)).replace(/\.md$/, '')
  if (!names.has(target) || (path !== '' && !path.endsWith('.md'))) return inner
  return [['a', { page: target, ...(anchor === undefined ? {} : { anchor }) }, inner]]
}

function textOf({ value, children = [] }) {
  return value ?? children.map(textOf).join('')
}

/** The name of a heading in addresses, as the sites that show such pages make it. */
function slugOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}
