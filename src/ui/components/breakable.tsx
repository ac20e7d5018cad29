/** A long value without spaces, such as an address or a URL: a narrow column breaks it after its punctuation. */
import { Fragment, type VNode } from 'preact'

const PUNCTUATION = './@?&=_+:-'

export function Breakable({ text }: { readonly text: string }): VNode {
  return (
    <>
      {splitAfterPunctuation(text).map((part, at) => (
        <Fragment key={`${at} ${part}`}>
          {at === 0 ? null : <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  )
}

/** A run of punctuation, such as that of `https://`, stays together. */
function splitAfterPunctuation(text: string): readonly string[] {
  const parts: string[] = []
  let start = 0
  for (let at = 1; at < text.length; at += 1) {
    if (!isPunctuation(text, at - 1) || isPunctuation(text, at)) continue
    parts.push(text.slice(start, at))
    start = at
  }
  return [...parts, text.slice(start)]
}

function isPunctuation(text: string, at: number): boolean {
  return PUNCTUATION.includes(text.charAt(at))
}
