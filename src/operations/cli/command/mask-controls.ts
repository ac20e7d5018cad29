/**
 * Makes text from outside safe to print: subjects, names and replies may hold control sequences for the terminal, and
 * marks that reverse the order of what follows (Bidi_Control), so that a line reads as another one.
 */

/** A line end stays. */
export function maskControls(text: string): string {
  return text.replace(/[^\P{Cc}\n]|\p{Bidi_Control}/gu, '?')
}

/** JSON stays the same value. JSON.stringify escapes only those below U+0020. */
export function escapeControls(json: string): string {
  return json.replace(
    /[^\P{Cc}\n]|\p{Bidi_Control}/gu,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
