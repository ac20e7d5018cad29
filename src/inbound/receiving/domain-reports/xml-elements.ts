/**
 * Walks over the elements of an XML document from outside. It builds no tree, reads no attributes, and knows no
 * entities but those that XML predefines: a document with a type declaration is refused, so nothing can expand.
 *
 * One pass. Limits: 12 levels, 2,000 characters of an element's text; what exceeds the latter is cut off. Prefixes of
 * names are dropped, since reports use the namespace or not.
 */
import { Parser } from 'htmlparser2'
import { UnreadableReport } from './unreadable-report.js'

const MAX_DEPTH = 12
const MAX_TEXT = 2_000
/** Characters that the parser gets at once. */
const CHUNK_SIZE = 65_536

interface ElementHandler {
  /** `path` has the names from the root down, in lower case, joined by `/`. */
  readonly onOpen: (path: string) => void
  /** `text` is the text outside of the element's children, without blanks around it. */
  readonly onClose: (path: string, text: string) => void
}

interface OpenElement {
  readonly path: string
  text: string
}

/** Throws `UnreadableReport`. */
export function walkElements(document: string, handler: ElementHandler): void {
  const open: OpenElement[] = []
  const parser = new Parser(
    {
      onprocessinginstruction: (name) => {
        if (name.startsWith('!')) throw new UnreadableReport('XML with a document type is not read')
      },
      onopentagname: (name) => {
        if (open.length === MAX_DEPTH) throw new UnreadableReport(`XML with more than ${MAX_DEPTH} levels`)
        const above = open.at(-1)
        const path = `${above === undefined ? '' : `${above.path}/`}${localNameOf(name)}`
        open.push({ path, text: '' })
        handler.onOpen(path)
      },
      ontext: (text) => {
        const element = open.at(-1)
        if (element === undefined || element.text.length >= MAX_TEXT) return
        // Blanks alone between elements are most of a document.
        element.text = `${element.text}${text.slice(0, MAX_TEXT)}`.trimStart()
      },
      onclosetag: () => {
        const element = open.pop()
        if (element !== undefined) handler.onClose(element.path, element.text.slice(0, MAX_TEXT).trimEnd())
      },
    },
    { xmlMode: true },
  )
  for (let at = 0; at < document.length; at += CHUNK_SIZE) parser.write(document.slice(at, at + CHUNK_SIZE))
  parser.end()
}

function localNameOf(name: string): string {
  return name
    .slice(name.indexOf(':') + 1)
    .slice(0, 100)
    .toLowerCase()
}
