/** The addresses of the pages of docs/ by their names, as the build makes them (`scripts/build-parts/help-pages.mjs`). */
declare module 'virtual:help-pages' {
  export const urls: Readonly<Record<string, string>>
}
