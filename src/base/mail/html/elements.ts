/**
 * The effect of the elements of HTML on the text around them, as far as mail programs agree: one table for every
 * reader.
 */

/** Elements without an end tag, so nothing stands inside them (HTML section 13.1.2). */
export const voidElements: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
)

/** Browsers never show the content of these elements as text. */
export const unrenderedElements: ReadonlySet<string> = new Set(['script', 'style', 'title', 'template'])

/** Elements that begin a line. */
export const blockElements: ReadonlySet<string> = new Set(
  'br center div h1 h2 h3 h4 h5 h6 hr li ol p table tr ul'.split(' '),
)

/** Elements that are next to each other on a line and still separate words. */
export const cellElements: ReadonlySet<string> = new Set(['td', 'th'])

/** Elements that may stand within a word. */
export const inlineElements: ReadonlySet<string> = new Set(
  'a abbr acronym b big em font i ins mark s small span strike strong sub sup tt u wbr'.split(' '),
)
