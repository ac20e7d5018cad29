/** Ids of elements that are unique in the document. Those of Preact are unique in one root only (`editor/outside.tsx`). */
import { useState } from 'preact/hooks'

let last = 0

export function useUniqueId(): string {
  const [id] = useState(() => {
    last += 1
    return `id-${last}`
  })
  return id
}
