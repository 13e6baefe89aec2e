package pdfium

// function is an index into an Instance's table of exports: a call costs no map look-up.
type function int

const (
	fnInitLibrary function = iota
	fnMalloc
	fnFree
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
	fnTextObjRenderMode
	fnFontBaseName
	fnFontFlags
	fnFontWeight
	fnFontItalicAngle
	fnBitmapCreateEx
	fnBitmapFillRect
	fnBitmapFormat
	fnBitmapBuffer
	fnBitmapWidth
	fnBitmapHeight
	fnBitmapStride
	fnBitmapDestroy
	fnRenderPageBitmap
	numFunctions
)

var functionNames = [numFunctions]string{
	fnInitLibrary:         "FPDF_InitLibrary",
	fnMalloc:              "malloc",
	fnFree:                "free",
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
	fnTextObjRenderMode:   "FPDFTextObj_GetTextRenderMode",
	fnFontBaseName:        "FPDFFont_GetBaseFontName",
	fnFontFlags:           "FPDFFont_GetFlags",
	fnFontWeight:          "FPDFFont_GetWeight",
	fnFontItalicAngle:     "FPDFFont_GetItalicAngle",
	fnBitmapCreateEx:      "FPDFBitmap_CreateEx",
	fnBitmapFillRect:      "FPDFBitmap_FillRect",
	fnBitmapFormat:        "FPDFBitmap_GetFormat",
	fnBitmapBuffer:        "FPDFBitmap_GetBuffer",
	fnBitmapWidth:         "FPDFBitmap_GetWidth",
	fnBitmapHeight:        "FPDFBitmap_GetHeight",
	fnBitmapStride:        "FPDFBitmap_GetStride",
	fnBitmapDestroy:       "FPDFBitmap_Destroy",
	fnRenderPageBitmap:    "FPDF_RenderPageBitmap",
}
