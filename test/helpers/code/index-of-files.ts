/**
 * Builds the pages of docs/ that are made from the head comments of src/: the index of files and the glossary.
 *
 * The index has the first sentence of each head comment. The glossary has each sentence of a head comment that names a
 * word between asterisks (`A *lane* is …`): the file that owns a word defines it there.
 */
import { posix } from 'node:path'
import { floorOf, roomOf, type Source } from './layering.js'

export const INDEX_PAGE = 'docs/index-of-files.md'
export const GLOSSARY_PAGE = 'docs/glossary.md'

interface Term {
  readonly word: string
  readonly sentence: string
  readonly file: string
}

/** The text of each page by its path. Throws if two files define one word. */
export function buildPages(sources: readonly Source[]): Readonly<Record<string, string>> {
  return { [INDEX_PAGE]: buildIndex(sources), [GLOSSARY_PAGE]: buildGlossary(sources) }
}

/** The first sentence of the head comment, on one line. Empty if the file has none. */
export function firstSentenceOf(text: string): string {
  return (sentencesOf(text)[0] ?? '').replace(/:$/, '.')
}

/** The names of files as the pages of docs/ have them. */
function shortName(path: string): string {
  return path.replace(/^src\//, '').replace(/(?:\.d)?\.tsx?$/, '')
}

function buildIndex(sources: readonly Source[]): string {
  const lines = [
    '# Index of files',
    '',
    'Search this page for the words of a behaviour to find the files that have it. `npm run docs:index` writes the page from',
    'the first sentence of each file in `src/`, so do not edit it: change the comment at the head of the file. Names start at',
    '`src/` and have no `.ts`. The rooms are in the order of their floors, the highest first ([architecture](architecture.md)).',
  ]
  let folder = ''
  for (const { path, text } of [...sources].sort(byFloor)) {
    const here = posix.dirname(shortName(path))
    if (here !== folder)
      lines.push('', `${here === '.' || here === roomOf(path) ? '##' : '###'} ${here === '.' ? 'src' : here}/`, '')
    folder = here
    lines.push(`- \`${shortName(path)}\`: ${firstSentenceOf(text)}`)
  }
  return `${lines.join('\n')}\n`
}

/** Highest floor first, then by room and folder; the files of a folder stand before its folders. */
function byFloor(a: Source, b: Source): number {
  const [here, there] = [posix.dirname(a.path), posix.dirname(b.path)]
  return (
    floorOf(b.path) - floorOf(a.path) ||
    compareTexts(roomOf(a.path), roomOf(b.path)) ||
    compareTexts(here, there) ||
    compareTexts(shortName(a.path), shortName(b.path))
  )
}

/** Sorts by code units, so that the page is the same whatever the locale. */
function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function buildGlossary(sources: readonly Source[]): string {
  const terms = sources.flatMap(termsOf).sort((a, b) => compareTexts(a.word, b.word))
  terms.forEach(({ word, file }, at) => {
    const next = terms[at + 1]
    if (next?.word === word) throw new Error(`"${word}" is defined in ${file} and in ${next.file}`)
  })
  const lines = [
    '# Glossary',
    '',
    'These words have a special meaning in Posthorn. Other words are those of the field: RFC 5321, 5322, 5598, 6376 and 7489,',
    'Postfix, Node.js, SQLite. `npm run docs:index` writes this page, so do not edit it. A word is defined by the file that owns it:',
    'the page has each sentence of a head comment in `src/` that names a word between asterisks.',
    '',
    ...terms.map(({ word, sentence, file }) => `- **${word}** (\`${file}\`): ${sentence}`),
  ]
  return `${lines.join('\n')}\n`
}

function termsOf({ path, text }: Source): readonly Term[] {
  return sentencesOf(text).flatMap((sentence) =>
    [...sentence.matchAll(/(?<![\w*`])\*([a-z][a-z ,-]*[a-z])\*(?![\w*`])/g)].map(([, word = '']) => ({
      word,
      sentence,
      file: shortName(path),
    })),
  )
}

/** A sentence ends at a full stop, or where a list, code or the paragraph does. */
function sentencesOf(text: string): readonly string[] {
  const [, comment = ''] = /^(?:#![^\n]*\n)?\/\*\*(.*?)\*\//s.exec(text) ?? []
  return comment
    .replace(/^ *\* ?/gm, '')
    .split(/\n\s*\n|\n(?= *- )|\n(?= {4})/)
    .flatMap((paragraph) =>
      paragraph
        .replace(/\s+/g, ' ')
        .trim()
        .split(/(?<=[.!?])(?<!\be\.g\.|\bi\.e\.) (?=[A-Z`"(\d])/),
    )
    .filter((sentence) => sentence !== '')
}
