/** The icon of the product, as SVG. */
export const iconSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><title>Berth</title><rect width="24" height="24" rx="5" fill="#0f5c6e"/><path d="M4 8h16v2H4zm2 4h12l-2 6H8z" fill="#fff"/><path d="M11 4h2v4h-2z" fill="#8fd3c8"/></svg>\n'
