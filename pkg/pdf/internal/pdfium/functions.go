package pdfium

// function is an index into an Instance's table of exports: a call costs no map look-up.
type function int

const (
	fnInitLibrary function = iota
	fnMalloc
	fnFree
	fnReadChars
	fnExhaustStack
	fnFileAccessCreate
	fnFileWriteCreate
	fnLoadCustomDocument
	fnCloseDocument
	fnGetLastError
	fnGetPageCount
	fnGetMetaText
	fnGetFileVersion
	fnIsTagged
	fnSecurityRevision
	fnGetFormType
	fnGetAttachmentCount
	fnGetJavaScriptCount
	fnGetSignatureCount
	fnGetXFAPacketCount
	fnSaveAsCopy
	fnBookmarkFirstChild
	fnBookmarkNextSibling
	fnBookmarkTitle
	fnBookmarkDest
	fnBookmarkAction
	fnActionType
	fnActionDest
	fnDestPageIndex
	fnPageSizeByIndex
	fnLoadPage
	fnClosePage
	fnPageBoundingBox
	fnPageRotation
	fnPageSetMediaBox
	fnPageSetCropBox
	fnPageSetArtBox
	fnNewDocument
	fnImportPages
	fnPageFlatten
	fnAnnotCount
	fnGetAnnot
	fnCloseAnnot
	fnAnnotSubtype
	fnCountObjects
	fnGetObject
	fnObjType
	fnObjBounds
	fnObjMatrix
	fnObjFillColor
	fnObjDashCount
	fnObjStrokeWidth
	fnObjSetStrokeWidth
	fnObjTransform
	fnObjClipPath
	fnClipCountPaths
	fnClipCountSegments
	fnClipGetSegment
	fnFormCountObjects
	fnFormGetObject
	fnPathCountSegments
	fnPathGetSegment
	fnPathDrawMode
	fnSegmentPoint
	fnSegmentType
	fnImagePixelSize
	fnImageBitmap
	fnImageMetadata
	fnObjHasTransparency
	fnTextLoadPage
	fnTextClosePage
	fnTextCountChars
	fnTextUnicode
	fnTextObject
	fnTextIsGenerated
	fnTextUnicodeError
	fnTextFontSize
	fnTextCharBox
	fnTextLooseBox
	fnTextMatrix
	fnTextObjFont
	fnTextObjFontSize
	fnTextObjRenderMode
	fnTextObjSetMode
	fnTextObjText
	fnFontBaseName
	fnFontFlags
	fnFontWeight
	fnFontItalicAngle
	fnFontEmbedded
	fnFontGlyphWidth
	fnBitmapCreateEx
	fnBitmapFillRect
	fnBitmapFormat
	fnBitmapBuffer
	fnBitmapWidth
	fnBitmapHeight
	fnBitmapStride
	fnBitmapDestroy
	fnRenderPageBitmap
	fnImageDataRaw
	fnImageDataDecoded
	fnImageFilterCount
	fnImageFilter
	fnRenderWithMatrix
	fnLinkEnumerate
	fnLinkAnnotRect
	fnLinkDest
	fnLinkAction
	fnActionURI
	fnStructTreeForPage
	fnStructTreeClose
	fnStructTreeCount
	fnStructTreeChild
	fnStructType
	fnStructLang
	fnStructCount
	fnStructChild
	fnStructMarkCount
	fnStructMark
	fnObjMark
	fnPageLabel
	fnGetAttachment
	fnAttachmentName
	fnAttachmentString
	fnAttachmentFile
	fnAttachmentSubtype
	fnSignatureObject
	fnSignatureRange
	fnSignatureSubFilter
	fnSignatureReason
	fnSignatureTime
	fnSignatureDocMDP
	fnDocPermissions
	numFunctions
)

var functionNames = [numFunctions]string{
	fnInitLibrary:         "FPDF_InitLibrary",
	fnMalloc:              "malloc",
	fnFree:                "free",
	fnReadChars:           "read_chars", // not of PDFium's, but of module/chars.c
	fnExhaustStack:        "exhaust_stack",
	fnFileAccessCreate:    "FPDF_FILEACCESS_Create",
	fnFileWriteCreate:     "FPDF_FILEWRITE_Create",
	fnLoadCustomDocument:  "FPDF_LoadCustomDocument",
	fnCloseDocument:       "FPDF_CloseDocument",
	fnGetLastError:        "FPDF_GetLastError",
	fnGetPageCount:        "FPDF_GetPageCount",
	fnGetMetaText:         "FPDF_GetMetaText",
	fnGetFileVersion:      "FPDF_GetFileVersion",
	fnIsTagged:            "FPDFCatalog_IsTagged",
	fnSecurityRevision:    "FPDF_GetSecurityHandlerRevision",
	fnGetFormType:         "FPDF_GetFormType",
	fnGetAttachmentCount:  "FPDFDoc_GetAttachmentCount",
	fnGetJavaScriptCount:  "FPDFDoc_GetJavaScriptActionCount",
	fnGetSignatureCount:   "FPDF_GetSignatureCount",
	fnGetXFAPacketCount:   "FPDF_GetXFAPacketCount",
	fnSaveAsCopy:          "FPDF_SaveAsCopy",
	fnBookmarkFirstChild:  "FPDFBookmark_GetFirstChild",
	fnBookmarkNextSibling: "FPDFBookmark_GetNextSibling",
	fnBookmarkTitle:       "FPDFBookmark_GetTitle",
	fnBookmarkDest:        "FPDFBookmark_GetDest",
	fnBookmarkAction:      "FPDFBookmark_GetAction",
	fnActionType:          "FPDFAction_GetType",
	fnActionDest:          "FPDFAction_GetDest",
	fnDestPageIndex:       "FPDFDest_GetDestPageIndex",
	fnPageSizeByIndex:     "FPDF_GetPageSizeByIndexF",
	fnLoadPage:            "FPDF_LoadPage",
	fnClosePage:           "FPDF_ClosePage",
	fnPageBoundingBox:     "FPDF_GetPageBoundingBox",
	fnPageRotation:        "FPDFPage_GetRotation",
	fnPageSetMediaBox:     "FPDFPage_SetMediaBox",
	fnPageSetCropBox:      "FPDFPage_SetCropBox",
	fnPageSetArtBox:       "FPDFPage_SetArtBox",
	fnNewDocument:         "FPDF_CreateNewDocument",
	fnImportPages:         "FPDF_ImportPagesByIndex",
	fnPageFlatten:         "FPDFPage_Flatten",
	fnAnnotCount:          "FPDFPage_GetAnnotCount",
	fnGetAnnot:            "FPDFPage_GetAnnot",
	fnCloseAnnot:          "FPDFPage_CloseAnnot",
	fnAnnotSubtype:        "FPDFAnnot_GetSubtype",
	fnCountObjects:        "FPDFPage_CountObjects",
	fnGetObject:           "FPDFPage_GetObject",
	fnObjType:             "FPDFPageObj_GetType",
	fnObjBounds:           "FPDFPageObj_GetBounds",
	fnObjMatrix:           "FPDFPageObj_GetMatrix",
	fnObjFillColor:        "FPDFPageObj_GetFillColor",
	fnObjDashCount:        "FPDFPageObj_GetDashCount",
	fnObjStrokeWidth:      "FPDFPageObj_GetStrokeWidth",
	fnObjSetStrokeWidth:   "FPDFPageObj_SetStrokeWidth",
	fnObjTransform:        "FPDFPageObj_TransformF",
	fnObjClipPath:         "FPDFPageObj_GetClipPath",
	fnClipCountPaths:      "FPDFClipPath_CountPaths",
	fnClipCountSegments:   "FPDFClipPath_CountPathSegments",
	fnClipGetSegment:      "FPDFClipPath_GetPathSegment",
	fnFormCountObjects:    "FPDFFormObj_CountObjects",
	fnFormGetObject:       "FPDFFormObj_GetObject",
	fnPathCountSegments:   "FPDFPath_CountSegments",
	fnPathGetSegment:      "FPDFPath_GetPathSegment",
	fnPathDrawMode:        "FPDFPath_GetDrawMode",
	fnSegmentPoint:        "FPDFPathSegment_GetPoint",
	fnSegmentType:         "FPDFPathSegment_GetType",
	fnImagePixelSize:      "FPDFImageObj_GetImagePixelSize",
	fnImageBitmap:         "FPDFImageObj_GetBitmap",
	fnImageMetadata:       "FPDFImageObj_GetImageMetadata",
	fnObjHasTransparency:  "FPDFPageObj_HasTransparency",
	fnTextLoadPage:        "FPDFText_LoadPage",
	fnTextClosePage:       "FPDFText_ClosePage",
	fnTextCountChars:      "FPDFText_CountChars",
	fnTextUnicode:         "FPDFText_GetUnicode",
	fnTextObject:          "FPDFText_GetTextObject",
	fnTextIsGenerated:     "FPDFText_IsGenerated",
	fnTextUnicodeError:    "FPDFText_HasUnicodeMapError",
	fnTextFontSize:        "FPDFText_GetFontSize",
	fnTextCharBox:         "FPDFText_GetCharBox",
	fnTextLooseBox:        "FPDFText_GetLooseCharBox",
	fnTextMatrix:          "FPDFText_GetMatrix",
	fnTextObjFont:         "FPDFTextObj_GetFont",
	fnTextObjFontSize:     "FPDFTextObj_GetFontSize",
	fnTextObjRenderMode:   "FPDFTextObj_GetTextRenderMode",
	fnTextObjSetMode:      "FPDFTextObj_SetTextRenderMode",
	fnTextObjText:         "FPDFTextObj_GetText",
	fnFontBaseName:        "FPDFFont_GetBaseFontName",
	fnFontFlags:           "FPDFFont_GetFlags",
	fnFontWeight:          "FPDFFont_GetWeight",
	fnFontItalicAngle:     "FPDFFont_GetItalicAngle",
	fnFontEmbedded:        "FPDFFont_GetIsEmbedded",
	fnFontGlyphWidth:      "FPDFFont_GetGlyphWidth",
	fnBitmapCreateEx:      "FPDFBitmap_CreateEx",
	fnBitmapFillRect:      "FPDFBitmap_FillRect",
	fnBitmapFormat:        "FPDFBitmap_GetFormat",
	fnBitmapBuffer:        "FPDFBitmap_GetBuffer",
	fnBitmapWidth:         "FPDFBitmap_GetWidth",
	fnBitmapHeight:        "FPDFBitmap_GetHeight",
	fnBitmapStride:        "FPDFBitmap_GetStride",
	fnBitmapDestroy:       "FPDFBitmap_Destroy",
	fnRenderPageBitmap:    "FPDF_RenderPageBitmap",
	fnImageDataRaw:        "FPDFImageObj_GetImageDataRaw",
	fnImageDataDecoded:    "FPDFImageObj_GetImageDataDecoded",
	fnImageFilterCount:    "FPDFImageObj_GetImageFilterCount",
	fnImageFilter:         "FPDFImageObj_GetImageFilter",
	fnRenderWithMatrix:    "FPDF_RenderPageBitmapWithMatrix",
	fnLinkEnumerate:       "FPDFLink_Enumerate",
	fnLinkAnnotRect:       "FPDFLink_GetAnnotRect",
	fnLinkDest:            "FPDFLink_GetDest",
	fnLinkAction:          "FPDFLink_GetAction",
	fnActionURI:           "FPDFAction_GetURIPath",
	fnStructTreeForPage:   "FPDF_StructTree_GetForPage",
	fnStructTreeClose:     "FPDF_StructTree_Close",
	fnStructTreeCount:     "FPDF_StructTree_CountChildren",
	fnStructTreeChild:     "FPDF_StructTree_GetChildAtIndex",
	fnStructType:          "FPDF_StructElement_GetType",
	fnStructLang:          "FPDF_StructElement_GetLang",
	fnStructCount:         "FPDF_StructElement_CountChildren",
	fnStructChild:         "FPDF_StructElement_GetChildAtIndex",
	fnStructMarkCount:     "FPDF_StructElement_GetMarkedContentIdCount",
	fnStructMark:          "FPDF_StructElement_GetMarkedContentIdAtIndex",
	fnObjMark:             "FPDFPageObj_GetMarkedContentID",
	fnPageLabel:           "FPDF_GetPageLabel",
	fnGetAttachment:       "FPDFDoc_GetAttachment",
	fnAttachmentName:      "FPDFAttachment_GetName",
	fnAttachmentString:    "FPDFAttachment_GetStringValue",
	fnAttachmentFile:      "FPDFAttachment_GetFile",
	fnAttachmentSubtype:   "FPDFAttachment_GetSubtype",
	fnSignatureObject:     "FPDF_GetSignatureObject",
	fnSignatureRange:      "FPDFSignatureObj_GetByteRange",
	fnSignatureSubFilter:  "FPDFSignatureObj_GetSubFilter",
	fnSignatureReason:     "FPDFSignatureObj_GetReason",
	fnSignatureTime:       "FPDFSignatureObj_GetTime",
	fnSignatureDocMDP:     "FPDFSignatureObj_GetDocMDPPermission",
	fnDocPermissions:      "FPDF_GetDocPermissions",
}
