/** The syntax tree of a source. The last one is kept: several judges look at one file after the other. */
import ts from 'typescript'
import type { Source } from './layering.js'

let last: { readonly source: Source; readonly file: ts.SourceFile } | null = null

export function parseSource(source: Source): ts.SourceFile {
  if (last === null || last.source.path !== source.path || last.source.text !== source.text) {
    last = { source, file: ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true) }
  }
  return last.file
}
